"""Reads labelled photos under conditions, with the shipped reader, a teacher, and both.

Writes a line of JSON for each labelled plate and condition. `found` tells what other
searches read where the shipped one finds nothing.

Example:
    python -m workshop.evaluation.studies.photos SCENES teacher.pth --out photos.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from workshop.evaluation.studies.blind_conditions import BLIND
from workshop.evaluation.studies.teachers import load_teacher

from orchestrator.arrays import Array
from orchestrator.networks.engines import Engine
from orchestrator.networks.runs import Networks
from orchestrator.pipeline import recognize
from orchestrator.settings import Settings
from workshop.evaluation.conditions.camera_conditions import CONDITIONS, Condition, View
from workshop.evaluation.datasets import LabelledPlate, Scene, read_scenes
from workshop.evaluation.outcomes import Outcome, judge, open_picture
from workshop.evaluation.recognizers import Answer, load_here


@dataclass
class Watched:
    """Networks whose detector answers from memory for the same picture; counts CPU seconds."""

    networks: Any
    memory: dict[tuple[object, ...], dict[str, Array]] = field(default_factory=dict)
    detector_s: float = 0.0
    crops: int = 0

    @property
    def formats(self) -> Any:
        return self.networks.formats

    def __call__(self, name: str, tensors: Mapping[str, Array]) -> dict[str, Array]:
        (tensor,) = tensors.values()
        if name == "lprnet":
            self.crops += len(tensor)
        if name != "yolo":
            answer: dict[str, Array] = self.networks(name, tensors)
            return answer
        pixels = np.ascontiguousarray(np.asarray(tensor))
        key = pixels.shape, zlib.crc32(pixels), zlib.adler32(pixels)
        started = time.process_time()
        if key not in self.memory:
            self.memory[key] = self.networks(name, tensors)
        self.detector_s += time.process_time() - started
        return self.memory[key]


def describe(outcome: Outcome) -> dict[str, Any]:
    plate = outcome.answer
    return {
        "verdict": outcome.verdict,
        "text": plate.text if plate else "",
        "candidates": [[text, round(score, 5)] for text, score in plate.candidates]
        if plate
        else [],
        "px": round(outcome.width_px, 1),
        "detection": round(plate.detection_score, 4) if plate else 0.0,
    }


def read(
    scene: Scene, view: View, networks: Watched, settings: Settings
) -> tuple[Sequence[Outcome], dict[str, Any]]:
    """Read a view; return the outcomes of its labelled plates and what is common to them."""
    before_s, before_crops = networks.detector_s, networks.crops
    started = time.process_time()
    plates = recognize(torch.from_numpy(view.bgr), networks, settings)  # type: ignore[arg-type]
    taken = time.process_time() - started - (networks.detector_s - before_s)
    common = {
        "texts": [plate.text for plate in plates if plate.text],
        "ms": round(1000 * taken, 2),
        "crops": networks.crops - before_crops,
        "plates": len(plates),
    }
    return judge(scene, Answer(plates), view.to_source), common


def study(
    scene: Scene,
    half: Mapping[int, int],
    readers: Mapping[str, Watched],
    condition: Condition,
    bgr: Array,
) -> list[dict[str, Any]]:
    view = condition.view(bgr)
    memory: dict[tuple[object, ...], dict[str, Array]] = {}
    rows: dict[int, dict[str, Any]] = {}
    for name, networks in readers.items():
        if name != "shipped" and all(is_plain(row) for row in rows.values()):
            continue
        networks.memory = memory
        outcomes, common = read(scene, view, networks, Settings())
        for outcome in outcomes:
            if outcome.label.type != "std":
                continue
            row = rows.setdefault(
                id(outcome.label),
                {
                    "image": scene.path.name,
                    "half": half[id(outcome.label)],
                    "condition": condition.name,
                    "wanted": outcome.label.text,
                },
            )
            row[name] = {**describe(outcome), **common}
            if name == "shipped" and outcome.answer is None:
                row["found"] = search_again(outcome.label, view, readers["shipped"], bgr)
    return [*rows.values()]


PLAIN = 0.995
"""A right text with this score is not read by others: they could only spoil it."""


def is_plain(row: Mapping[str, Any]) -> bool:
    """Tell whether a plate was missed, or read right beyond doubt: other readers change nothing."""
    seen = row["shipped"]
    if not seen["candidates"]:
        return seen["verdict"] == "missed"
    text, score = seen["candidates"][0]
    return bool(text == row["wanted"] and score >= PLAIN)


# ------------------------------------------------------------------- searches where none is found


def enlarge(bgr: Array, times: float) -> Array:
    return cv2.resize(bgr, None, fx=times, fy=times, interpolation=cv2.INTER_CUBIC)


def sharpen(bgr: Array) -> Array:
    soft = cv2.GaussianBlur(bgr, (0, 0), 2.0).astype(np.float32)
    return np.clip(bgr + 1.5 * (bgr - soft), 0, 255).astype(np.uint8)


def equalize(bgr: Array) -> Array:
    lab = cv2.cvtColor(bgr, cv2.COLOR_BGR2LAB)
    lab[..., 0] = cv2.createCLAHE(3.0, (8, 8)).apply(lab[..., 0])
    return cv2.cvtColor(lab, cv2.COLOR_LAB2BGR)


def shrink(bgr: Array, times: float) -> Array:
    return cv2.resize(bgr, None, fx=1 / times, fy=1 / times, interpolation=cv2.INTER_AREA)


def searches(bgr: Array) -> dict[str, tuple[Array, float, Settings]]:
    """Return other searches: the picture, its scale, and the settings."""
    side = max(bgr.shape[:2])
    usual = Settings()
    larger = replace(usual, detector_side_px=min(1920, -(-side // 32) * 32))
    faint = replace(usual, detection_threshold=0.1)
    twice = replace(usual, detector_side_px=min(1920, -(-2 * side // 32) * 32))
    half_more = replace(usual, detector_side_px=min(1920, -(-3 * side // 64) * 32))
    return {
        "threshold 0.2": (bgr, 1.0, replace(usual, detection_threshold=0.2)),
        "threshold 0.1": (bgr, 1.0, faint),
        "threshold 0.05": (bgr, 1.0, replace(usual, detection_threshold=0.05)),
        "full size": (bgr, 1.0, larger),
        "twice as large": (enlarge(bgr, 2.0), 2.0, twice),
        "1.5 times as large": (enlarge(bgr, 1.5), 1.5, half_more),
        "half as large": (shrink(bgr, 2.0), 0.5, usual),
        "sharpened": (sharpen(bgr), 1.0, usual),
        "equalized": (equalize(bgr), 1.0, usual),
        "sharpened, threshold 0.1": (sharpen(bgr), 1.0, faint),
        "twice as large, threshold 0.1": (
            enlarge(bgr, 2.0), 2.0, replace(twice, detection_threshold=0.1)
        ),
    }  # fmt: skip


def search_again(
    label: LabelledPlate, view: View, networks: Watched, _: Array
) -> dict[str, list[list[Any]]]:
    """Return what each other search reads in the label's region: text, score, detection score."""
    found = {}
    for name, (picture, scale, settings) in searches(view.bgr).items():
        plates = recognize(torch.from_numpy(picture), networks, settings)  # type: ignore[arg-type]
        found[name] = [
            [
                *(plate.candidates[0] if plate.candidates else ("", 0.0)),
                round(plate.detection_score, 3),
                label.holds(
                    view.to_source(
                        (
                            (plate.xyxy[0] + plate.xyxy[2]) / 2 / scale,
                            (plate.xyxy[1] + plate.xyxy[3]) / 2 / scale,
                        )
                    )
                ),
            ]
            for plate in plates
        ]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read photos under conditions.")
    parser.add_argument("scenes", type=Path)
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--columns", action="store_true", help="also the mean of both's columns")
    parser.add_argument("--blind", action="store_true", help="the twelve others instead")
    options = parser.parse_args(arguments)
    cv2.setNumThreads(1)
    shipped: Networks = load_here(None, Engine.AUTO, 1)
    readers = {"shipped": Watched(shipped)}
    if options.teacher:
        own, beside = load_teacher(options.teacher, shipped)
        readers |= {"teacher": Watched(own)}
        readers |= {"both": Watched(beside)} if options.columns else {}
    scenes = [s for s in read_scenes(options.scenes) if any(p.type == "std" for p in s.plates)]
    labels = [plate for scene in scenes for plate in scene.plates if plate.type == "std"]
    half = {id(plate): at % 2 for at, plate in enumerate(labels)}
    with options.out.open("a", encoding="utf-8") as file:
        for number, scene in enumerate(scenes):
            if options.half is not None and options.half not in {
                half[id(plate)] for plate in scene.plates if id(plate) in half
            }:
                continue
            bgr = open_picture(scene.path).numpy()
            for condition in BLIND if options.blind else CONDITIONS:
                for row in study(scene, half, readers, condition, bgr):
                    file.write(json.dumps(row) + "\n")
            file.flush()
            sys.stderr.write(f"{number + 1} of {len(scenes)}\n")


if __name__ == "__main__":
    main()
