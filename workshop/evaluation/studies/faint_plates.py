"""Counts texts and CPU time with and without faint plates, on photos whose plates are covered."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import torch

from orchestrator.networks.engines import Engine
from orchestrator.pipeline import recognize
from orchestrator.settings import Settings
from workshop.evaluation.datasets import read_scenes
from workshop.evaluation.outcomes import open_picture
from workshop.evaluation.recognizers import load_here

REPEATS = 3


def main() -> None:
    cv2.setNumThreads(1)
    networks, tally, spent = load_here(None, Engine.AUTO, 1), Counter[str](), Counter[str]()
    ways = {"without": Settings(faint_threshold=1.0), "with": Settings()}
    for scene in read_scenes(Path(sys.argv[1])):
        bgr = open_picture(scene.path).numpy().copy()
        for label in scene.plates:
            x0, y0, x1, y1 = (max(0, int(side)) for side in label.region)
            part = bgr[y0:y1, x0:x1]
            part[:] = np.median(part.reshape(-1, 3), axis=0)
        picture = torch.from_numpy(bgr)
        found = recognize(picture, networks, ways["without"])  # type: ignore[arg-type]
        kind = "some" if found else "none"
        tally[f"pictures with {kind} found"] += 1
        for name in [*ways] * REPEATS:
            started = time.process_time()
            plates = recognize(picture, networks, ways[name])  # type: ignore[arg-type]
            spent[f"{kind} found, {name}"] += time.process_time() - started
            tally[f"texts {name}"] += sum(bool(plate.text) for plate in plates)
    sys.stdout.write(f"{dict(tally)}\n{dict(spent)}\n")


if __name__ == "__main__":
    main()
