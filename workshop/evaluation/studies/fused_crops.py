"""Compares ways to read the passes of vehicles: fused texts, and fused crops.

Fused texts are those of `plate_cameras.tracking.fusion`. Fused crops are one text from the mean of
the logits, or of the probabilities, of all looks at a plate.

Example:
    python -m workshop.evaluation.studies.fused_crops --clips clips --out readings
    python -m workshop.evaluation.studies.fused_crops --photos scenes --out readings
    python -m workshop.evaluation.studies.fused_crops --judge readings
"""

from __future__ import annotations

import argparse
import csv
import pickle
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import torch

import orchestrator.pipeline as pipeline
from orchestrator.formats.edit_distance import edit_distance
from orchestrator.formats.plate_formats import russian
from orchestrator.networks.engines import Engine
from orchestrator.plates import Plates
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar
from orchestrator.reading.reader import MIN_WIDTH_PX, PlateReadings
from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame
from plate_cameras.passes import Observation
from plate_cameras.tracking.fusion import fuse, weigh
from plate_cameras.tracking.looks import quality_of
from plate_cameras.tracking.pass_tracker import PassTracker
from plate_cameras.tracking.plate_pixels import PlatePixels, measure_sharpness
from workshop.evaluation.conditions.camera_conditions import resize
from workshop.evaluation.datasets import read_scenes
from workshop.evaluation.outcomes import centre_of, open_picture
from workshop.evaluation.passes.clip_readings import KnownPixels, ReadFrame, clip_frames
from workshop.evaluation.passes.pass_outcomes import vehicles_of
from workshop.evaluation.recognizers import load_here
from workshop.rendering.road.clips import read_truth

Logits = npt.NDArray[np.float32]
NO_LOGITS = np.zeros((0, 0), np.float32)


@dataclass(frozen=True)
class Seen:
    """The plates of a picture, with the logits and the lines of each reading."""

    plates: Plates
    logits: tuple[Logits, ...]
    lines: tuple[int, ...]


@dataclass(frozen=True)
class SeenFrame:
    frame: Frame
    seen: Seen
    sharpness: tuple[float, ...]


@dataclass(frozen=True)
class Looked:
    """A pass with known text: what is fused."""

    text: str
    observations: tuple[Observation, ...]
    logits: tuple[Logits, ...]
    lines: tuple[int, ...]


class Recorder:
    """Runs the pipeline, and keeps the last readings of each picture."""

    def __init__(self) -> None:
        self._networks = load_here(None, Engine.AUTO, 1)
        self._last: PlateReadings | None = None
        improve = pipeline.improve

        def keep(*arguments: Any, **named: Any) -> PlateReadings:
            self._last = improve(*arguments, **named)
            return self._last

        pipeline.improve = keep

    def __call__(self, bgr: npt.NDArray[np.uint8]) -> Seen:
        self._last = None
        plates = pipeline.recognize(torch.from_numpy(bgr), self._networks)  # type: ignore[arg-type]
        logits, lines = [NO_LOGITS] * len(plates), [1] * len(plates)
        readable = [
            index
            for index, plate in enumerate(plates)
            if plate.xyxy[2] - plate.xyxy[0] >= MIN_WIDTH_PX
        ]
        if self._last is not None:
            assert len(self._last.logits) == len(readable)
            for index, columns, reading in zip(
                readable, self._last.logits, self._last.readings, strict=True
            ):
                logits[index], lines[index] = columns, reading.lines
        return Seen(plates, tuple(logits), tuple(lines))


def record_clip(clip: Path, recorder: Recorder) -> list[SeenFrame]:
    frames = []
    for frame in clip_frames(clip, 30.0):
        bgr = cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), cv2.IMREAD_COLOR)
        seen = recorder(bgr)
        sharpness = PlatePixels().measure(frame, [plate.xyxy for plate in seen.plates])
        kept = Frame(frame.camera, frame.number, frame.time_s, "file", b"", frame.size_wh)
        frames.append(SeenFrame(kept, seen, tuple(sharpness)))
    return frames


def by_place_of(
    frames: Sequence[SeenFrame],
) -> dict[tuple[float, tuple[float, ...]], tuple[Logits, int]]:
    return {
        (round(frame.frame.time_s, 4), plate.xyxy): (columns, lines)
        for frame in frames
        for plate, columns, lines in zip(
            frame.seen.plates, frame.seen.logits, frame.seen.lines, strict=True
        )
    }


def passes_of(clip: Path, frames: Sequence[SeenFrame]) -> Iterator[Looked]:
    """Yield the passes of a clip that show one vehicle of its truth."""
    truth = read_truth(clip.with_suffix(".json"))
    known = [ReadFrame(frame.frame, frame.seen.plates, frame.sharpness) for frame in frames]
    tracker = PassTracker(Camera(clip.stem, str(clip)), pixels=KnownPixels(known))
    events = [event for frame in known for event in tracker.update(frame.frame, frame.plates)]
    events += tracker.close()
    by_place = by_place_of(frames)
    for event in events:
        if event.kind != "closed":
            continue
        shown = vehicles_of(event.passed, truth)
        if not shown:
            continue
        observations = event.passed.observations
        read = [by_place[round(one.time_s, 4), one.plate.xyxy] for one in observations]
        text = truth.passes[shown.most_common(1)[0][0]].text
        logits, lines = zip(*read, strict=True)
        yield Looked(text, observations, logits, lines)


def real_passes(clip: Path, frames: Sequence[SeenFrame], texts: Sequence[str]) -> Iterator[Looked]:
    """Yield the passes of a clip without a truth, each with the labelled text most like its own."""
    known = [ReadFrame(frame.frame, frame.seen.plates, frame.sharpness) for frame in frames]
    tracker = PassTracker(Camera(clip.stem, str(clip)), pixels=KnownPixels(known))
    events = [event for frame in known for event in tracker.update(frame.frame, frame.plates)]
    places = by_place_of(frames)
    for event in [*events, *tracker.close()]:
        if event.kind == "closed" and event.passed.candidates:
            best = event.passed.candidates[0][0]
            text = min(texts, key=lambda one: edit_distance(one, best), default="")
            text = text if text and edit_distance(text, best) <= 3 else ""
            observations = event.passed.observations
            read = [places[round(one.time_s, 4), one.plate.xyxy] for one in observations]
            logits, lines = zip(*read, strict=True)
            yield Looked(text, observations, logits, lines)


FIRST_SCALE, GROWTH, LOOKS = 0.2, 1.06, 6
"""A photo becomes a pass of a car that comes nearer."""


def record_photo(path: Path, label: Any, recorder: Recorder, seed: int, scale: float) -> Looked:
    """Read a photo as a pass: small, each time a little larger, shifted, noisy and compressed."""
    rng, bgr = np.random.default_rng(seed), open_picture(path).numpy()
    observations, logits, lines = [], [], []
    for look in range(LOOKS):
        dx, dy = rng.uniform(0, 8, 2)
        shift = np.array([[1, 0, dx], [0, 1, dy]])
        moved = cv2.warpAffine(bgr, shift, bgr.shape[1::-1], borderMode=cv2.BORDER_REPLICATE)
        small = resize(moved, scale * GROWTH**look)
        smeared = cv2.blur(small.bgr, (int(rng.integers(1, 3)), 1))
        noisy = smeared + rng.normal(0, rng.uniform(2, 7), smeared.shape)
        pixels = np.clip(noisy, 0, 255).astype(np.uint8)
        _, coded = cv2.imencode(
            ".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(40, 85))]
        )
        picture = cv2.imdecode(coded, cv2.IMREAD_COLOR)
        seen = recorder(picture)
        for plate, columns, count in zip(seen.plates, seen.logits, seen.lines, strict=True):
            x, y = small.to_source(centre_of(plate.xyxy))
            if label.holds((x - dx, y - dy)):
                x0, y0, x1, y1 = (max(0, round(side)) for side in plate.xyxy)
                grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)[
                    y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)
                ]
                observations.append(Observation(0.3 * look, plate, measure_sharpness(grey)))
                logits.append(columns)
                lines.append(count)
                break
    return Looked(label.text, tuple(observations), tuple(logits), tuple(lines))


# ------------------------------------------------------------------------------------- judgement

Weigh = Callable[[Sequence[Observation]], Sequence[float]]


def evenly(observations: Sequence[Observation]) -> Sequence[float]:
    return [1.0] * len(observations)


def by_quality(observations: Sequence[Observation]) -> Sequence[float]:
    return [quality_of(one) for one in observations]


def softmax(logits: Logits) -> npt.NDArray[np.float64]:
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=-2, keepdims=True))
    return powers / powers.sum(axis=-2, keepdims=True)


def fuse_crops(looked: Looked, weigh_looks: Weigh, *, probabilities: bool) -> tuple[str, float]:
    """Return the text of the mean of the looks' columns, and its score."""
    chosen = [
        index
        for index, one in enumerate(looked.observations)
        if one.plate.candidates and looked.logits[index].size
    ]
    if not chosen:
        return "", 0.0
    weights = np.array(weigh_looks([looked.observations[index] for index in chosen]))
    counts = np.array([looked.lines[index] for index in chosen])
    lines = 2 if weights[counts == 2].sum() > weights[counts == 1].sum() else 1
    rows = [index for index, count in zip(chosen, counts, strict=True) if count == lines]
    weights = weights[counts == lines] + 1e-9
    columns = np.stack([looked.logits[index] for index in rows])
    if probabilities:
        columns = np.log(softmax(columns) + 1e-12)
        mean = np.log(np.average(np.exp(columns), axis=0, weights=weights))
    else:
        mean = np.average(columns, axis=0, weights=weights)
    grammar = Grammar.of(russian(), lines)
    (reading,) = decode(mean[None].astype(np.float32), grammar, lines=lines)
    return reading.candidates[0] if reading.candidates else ("", 0.0)


def fuse_texts(looked: Looked) -> tuple[str, float]:
    fused = fuse(looked.observations)
    return fused.text, fused.score


def best_look(looked: Looked) -> tuple[str, float]:
    """Return the surest single reading."""
    readings = [one.plate.candidates[0] for one in looked.observations if one.plate.candidates]
    return max(readings, key=lambda reading: reading[1], default=("", 0.0))


def join(*readings: tuple[str, float]) -> tuple[str, float]:
    """Return a text that both name with the greater score; else the surer one with half of it."""
    surer = max(readings, key=lambda reading: reading[1])
    if len({text for text, _ in readings}) == 1:
        return surer
    return surer[0], surer[1] / 2


WAYS: dict[str, Callable[[Looked], tuple[str, float]]] = {
    "fused texts (today)": fuse_texts,
    "the surest look alone": best_look,
    "mean of logits": lambda one: fuse_crops(one, evenly, probabilities=False),
    "logits, by quality": lambda one: fuse_crops(one, by_quality, probabilities=False),
    "logits, by today's weights": lambda one: fuse_crops(one, weigh, probabilities=False),
    "mean of probabilities": lambda one: fuse_crops(one, evenly, probabilities=True),
    "probabilities, by quality": lambda one: fuse_crops(one, by_quality, probabilities=True),
    "probabilities, by today's weights": lambda one: fuse_crops(one, weigh, probabilities=True),
    "today's and logits by quality agree": lambda one: join(
        fuse_texts(one), fuse_crops(one, by_quality, probabilities=False)
    ),
}


def width_of(one: Observation) -> float:
    return one.plate.xyxy[2] - one.plate.xyxy[0]


def keep_looks(looked: Looked, kept: Sequence[int]) -> Looked:
    return Looked(
        looked.text,
        tuple(looked.observations[index] for index in kept),
        tuple(looked.logits[index] for index in kept),
        tuple(looked.lines[index] for index in kept),
    )


def narrow(looked: Looked, most_px: float) -> Looked:
    kept = [i for i, one in enumerate(looked.observations) if width_of(one) < most_px]
    return keep_looks(looked, kept)


def few(looked: Looked, count: int = 3) -> Looked:
    """Keep looks that are spread over the first half of a pass."""
    first = range((len(looked.observations) + 1) // 2)
    kept = sorted({first[int(at)] for at in np.linspace(0, len(first) - 1, count)}) if first else []
    return keep_looks(looked, kept)


SUBSETS: dict[str, Callable[[Looked], Looked]] = {
    "all looks": lambda one: one,
    "narrower than 60 px": lambda one: narrow(one, 60),
    "narrower than 45 px": lambda one: narrow(one, 45),
    "three early looks": few,
}


def judge(passes: Sequence[Looked]) -> str:
    """Return a row for each way and subset: best text right, shown right, wrong, sure and wrong."""
    lines = []
    for subset, choose in SUBSETS.items():
        parts = [choose(one) for one in passes]
        chosen = [
            one
            for one in parts
            if sum(bool(look.plate.candidates) for look in one.observations) > 1
        ]
        if not chosen:
            continue
        looks = sum(len(one.observations) for one in chosen)
        lines.append(f"  {subset}: {len(chosen)} passes, {looks} looks")
        for name, read in WAYS.items():
            started = time.process_time()
            texts = [read(one) for one in chosen]
            ms = 1000 * (time.process_time() - started) / len(chosen)
            right = [text == one.text for (text, _), one in zip(texts, chosen, strict=True)]
            shown = sum(ok and score >= 0.6 for ok, (_, score) in zip(right, texts, strict=True))
            wrong = [score for ok, (_, score) in zip(right, texts, strict=True) if not ok]
            loss = -np.mean(
                np.log(
                    [
                        max(1e-4, score if ok else 1 - score)
                        for ok, (_, score) in zip(right, texts, strict=True)
                    ]
                )
            )
            lines.append(
                f"    {name:36s} right {sum(right):4d}  shown {shown:4d}  wrong shown "
                f"{sum(score >= 0.6 for score in wrong):3d}  wrong, 0.9 "
                f"{sum(score >= 0.9 for score in wrong):3d}  log loss {loss:.3f}  {ms:.2f} ms"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare fused texts with fused crops.")
    parser.add_argument("--clips", type=Path)
    parser.add_argument("--real", type=Path, help="clips with labels.csv")
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--scale", type=float, default=FIRST_SCALE)
    parser.add_argument("--seed", type=int, default=5300)
    parser.add_argument("--out", type=Path, default=Path("readings"))
    parser.add_argument("--judge", type=Path)
    options = parser.parse_args(arguments)
    cv2.setNumThreads(1)
    if options.judge:
        sets: dict[str, list[Looked]] = defaultdict(list)
        for file in sorted(options.judge.glob("*.pickle")):
            sets[file.name.rsplit("-", 1)[0]] += pickle.loads(file.read_bytes())
        for name, passes in sets.items():
            sys.stdout.write(f"{name}\n{judge(passes)}\n")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    recorder = Recorder()
    if options.clips:
        for clip in sorted(options.clips.glob("*.mp4")):
            kept = options.out / f"{'-'.join(clip.stem.split('-')[:2])}.pickle"
            if clip.with_suffix(".json").is_file() and not kept.exists():
                passes = [*passes_of(clip, record_clip(clip, recorder))]
                kept.write_bytes(pickle.dumps(passes))
                sys.stderr.write(f"{clip.stem}: {len(passes)} passes\n")
    if options.real:
        rows = [*csv.DictReader((options.real / "labels.csv").open(encoding="utf-8"))]
        for clip in sorted(options.real.glob("*.mp4")):
            texts = [row["text"] for row in rows if row["file"] == clip.name and row["text"]]
            passes = [*real_passes(clip, record_clip(clip, recorder), texts)]
            (options.out / f"real-{clip.stem}.pickle").write_bytes(pickle.dumps(passes))
    if options.photos:
        passes, name = [], f"photos {options.scale:g}"
        for number, scene in enumerate(read_scenes(options.photos)):
            for label in scene.plates:
                if label.type == "std":
                    seed = options.seed + number
                    passes.append(record_photo(scene.path, label, recorder, seed, options.scale))
        (options.out / f"{name}-{options.seed}.pickle").write_bytes(pickle.dumps(passes))


if __name__ == "__main__":
    main()
