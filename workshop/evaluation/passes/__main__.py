"""Measures the passes of clips: rendered ones against their truth, others as a table of passes.

Example:
    python -m workshop.rendering.road.clips --out clips --count 60
    python -m workshop.evaluation.passes clips
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from orchestrator.networks.export import load_networks
from orchestrator.networks.runs import Networks
from orchestrator.pipeline import recognize
from orchestrator.plates import Plates
from plate_cameras.configuration import Camera
from plate_cameras.passes import Pass, PassEvent
from plate_cameras.tracking.pass_tracker import PassTracker
from workshop.evaluation.passes.clip_readings import KnownPixels, ReadFrame, Recognize, read_clip
from workshop.evaluation.passes.pass_outcomes import (
    ClipOutcome,
    calibration_table,
    judge_clip,
    outcome_table,
    pass_table,
    speed_table,
)
from workshop.rendering.road.clips import read_truth


@dataclass(frozen=True)
class TrackedClip:
    """The events of one clip, and the CPU time of its tracker."""

    events: tuple[PassEvent, ...]
    frames: int
    seconds: float


def track(frames: Sequence[ReadFrame], camera: Camera) -> TrackedClip:
    """Follow the plates of a clip."""
    tracker = PassTracker(camera, pixels=KnownPixels(frames))
    start_s = time.process_time()
    events = [
        event for frame in frames for event in tracker.update(frame.frame, Plates(frame.plates))
    ]
    events += tracker.close()
    return TrackedClip(tuple(events), len(frames), time.process_time() - start_s)


@cache
def load_when_needed(threads: int) -> Networks:
    """Load the networks for the CPU, when the first picture is read: kept readings need none."""
    torch.set_num_threads(threads or os.cpu_count() or 1)
    return load_networks(threads=threads)


def measure(
    clips: Iterable[Path], recognizer: Recognize, looks_per_s: float, folder: Path
) -> tuple[list[ClipOutcome], dict[str, list[Pass]], list[TrackedClip]]:
    """Track clips; return the outcomes of those with truth, and the passes of the others."""
    outcomes, tables, tracked_clips = [], {}, []
    for clip in clips:
        frames = read_clip(clip, recognizer, looks_per_s, folder)
        file = clip.with_suffix(".json")
        truth = read_truth(file) if file.is_file() else None
        angle = truth.view_angle_deg if truth else None
        tracked_clip = track(frames, Camera(clip.stem, str(clip), view_angle_deg=angle))
        tracked_clips.append(tracked_clip)
        if truth:
            outcomes.append(judge_clip(truth, tracked_clip.events))
        else:
            closed_passes = [
                event.vehicle_pass for event in tracked_clip.events if event.kind == "closed"
            ]
            tables[clip.name] = closed_passes
    return outcomes, tables, tracked_clips


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure the passes of clips.")
    parser.add_argument("clips", type=Path, nargs="+", help="folders of clips, or clips")
    parser.add_argument("--looks", type=float, default=30.0, help="most frames a second; 30")
    parser.add_argument(
        "--readings",
        type=Path,
        default=Path("reports/readings"),
        help="folder of the readings, which are kept; reports/readings",
    )
    parser.add_argument("--threads", type=int, default=1, help="of the networks; 1")
    options = parser.parse_args(arguments)
    clips = [
        clip
        for path in options.clips
        for clip in (sorted(path.glob("*.mp4")) if path.is_dir() else [path])
    ]
    options.readings.mkdir(parents=True, exist_ok=True)
    outcomes, tables, tracked_clips = measure(
        clips,
        lambda picture: recognize(picture, load_when_needed(options.threads)),
        options.looks,
        options.readings,
    )
    parts = [f"{name}\n{pass_table(passes)}" for name, passes in tables.items()]
    if outcomes:
        parts += [outcome_table(outcomes), calibration_table(outcomes), speed_table(outcomes)]
    frames, seconds = (
        sum(clip.frames for clip in tracked_clips),
        sum(clip.seconds for clip in tracked_clips),
    )
    parts.append(
        f"tracker: {1000 * seconds / max(1, frames):.2f} ms of CPU a frame, {frames} frames"
    )
    sys.stdout.write("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
