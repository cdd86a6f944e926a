"""Reads the labelled pictures of cameras: a plate counts if its text is shown for its picture."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import cv2
import torch

from orchestrator.networks.engines import Engine
from orchestrator.pipeline import recognize
from workshop.evaluation.outcomes import open_picture
from workshop.evaluation.recognizers import load_here


def main() -> None:
    cv2.setNumThreads(1)
    networks, plates, read, lost, others = load_here(None, Engine.AUTO, 1), 0, 0, [], []
    for folder in map(Path, sys.argv[1:]):
        labels: dict[str, list[str]] = {}
        for row in csv.DictReader((folder / "labels.csv").open(encoding="utf-8")):
            labels.setdefault(row["file"], []).append(row["text"])
        for file, wanted in labels.items():
            path = next(iter(folder.rglob(Path(file).name)))
            shown = [
                p.text for p in recognize(torch.from_numpy(open_picture(path).numpy()), networks)
            ]
            texts = [text for text in wanted if text]
            plates += len(texts)
            read += sum(text in shown for text in texts)
            lost += [(file, text) for text in texts if text not in shown]
            others += [(file, text) for text in shown if text and text not in texts]
    sys.stdout.write(f"{read} of {plates} read\nnot read: {lost}\nother texts: {others}\n")


if __name__ == "__main__":
    main()
