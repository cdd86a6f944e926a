"""Clips of a road with known passes: H.264 files and, for each, a JSON file with the truth.

Example:
    python -m workshop.rendering.road.clips --out clips --count 60 --conditions day --seed 1
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.rendering.cars import draw_car, with_plate
from workshop.rendering.commands import Command, at_least
from workshop.rendering.country import Country, country_of
from workshop.rendering.glyphs import glyph_mask
from workshop.rendering.painting import fix_weight
from workshop.rendering.road.filming import Conditions, SeenPlate, Shot, Vehicle, set_up
from workshop.rendering.road.traffic import SCENARIOS, Course
from workshop.rendering.texts import plain, random_text
from workshop.rendering.video import CPU_INDEPENDENT, PRESETS
from workshop.reporting.files import read_report, write_report

SIZE_WH = (1280, 720)
RATES = (2.0, 4.0, 5.0, 8.0, 12.5, 25.0)
RATE_SHARES = (0.2, 0.25, 0.2, 0.2, 0.1, 0.05)
"""Frames a second of the clips, and the shares of the clips."""
CRF = (24.0, 34.0)
"""Smallest and greatest constant rate factor: some 2 Mbit/s to 0.3 Mbit/s at 25 frames a second."""
FACE_PX = 900
"""Width of the drawn face of a car."""
EXPOSURES_S = {"day": (1 / 2000, 1 / 400), "night": (1 / 500, 1 / 120), "rain": (1 / 1000, 1 / 250)}
"""Shortest and longest exposure."""
MAX_DURATION_S = 24.0
TWO_LANES = ("two lanes", "overtaking", "parked")


@dataclass(frozen=True)
class TruthBox:
    """The box of a plate in one frame, pixels."""

    frame: int
    time_s: float
    xyxy: tuple[float, float, float, float]
    readable: bool


@dataclass(frozen=True)
class TruthPass:
    """One pass of a clip.

    Attributes:
        text: Text of the plate.
        first_s: Time of the first frame in which the plate is readable; None if there is none.
        last_s: Time of the last such frame.
        boxes: The plate in each frame in which it is in the picture.
        speed_kmh: Mean speed of the vehicle between these frames; None if there is none.
    """

    text: str
    first_s: float | None
    last_s: float | None
    boxes: tuple[TruthBox, ...]
    speed_kmh: float | None = None

    @property
    def readable(self) -> tuple[TruthBox, ...]:
        """The boxes in which the plate is readable."""
        return tuple(box for box in self.boxes if box.readable)


@dataclass(frozen=True)
class Truth:
    """The truth about a clip, and the horizontal angle of view of its camera."""

    scenario: str
    conditions: str
    rate: float
    size_wh: tuple[int, int]
    passes: tuple[TruthPass, ...]
    view_angle_deg: float | None = None


def read_truth(file: Path) -> Truth:
    """Read the JSON file of a clip."""
    return read_report(Truth, file)


def draw_clip(
    out: Path, country: Country, *, scenario: str, conditions: Conditions, seed: int
) -> Truth:
    """Film one scenario, and write `out` with the ending `.mp4` and the truth beside it.

    Args:
        out: Path without an ending.
        country: Country of the plates.
        scenario: One of `SCENARIOS`.
        conditions: Light and weather.
        seed: The same seed gives the same clip.
    """
    rng = np.random.default_rng(seed)
    view, road = set_up(rng, SIZE_WH, 2 if scenario in TWO_LANES else 1)
    courses = _from_zero(SCENARIOS[scenario](rng, road))
    vehicles = [_vehicle(rng, country, course) for course in courses]
    rate = float(rng.choice(RATES, p=RATE_SHARES))
    exposure = float(np.exp(rng.uniform(*np.log(EXPOSURES_S[conditions]))))
    shot = Shot(view, vehicles, conditions, exposure, seed)
    end = min(MAX_DURATION_S, max(course.times_s[-1] for course in courses))
    times = np.arange(float(rng.uniform(0, 1 / rate)), end, 1 / rate).tolist()
    plates_by_frame: list[list[SeenPlate]] = []
    frames = _keep_plates(shot.film(times), plates_by_frame)
    write_video(out.with_suffix(".mp4"), frames, rate, crf=float(rng.uniform(*CRF)))
    passes = [
        _truth_of(index, vehicle, plates_by_frame, times, rate)
        for index, vehicle in enumerate(vehicles)
    ]
    angle = 2 * float(np.rad2deg(np.arctan(SIZE_WH[0] / 2 / view.focal_px)))
    truth = Truth(scenario, conditions, rate, SIZE_WH, tuple(passes), angle)
    write_report(truth, out.with_suffix(".json"))
    return truth


def write_video(file: Path, frames: Iterable[Bgr], rate: float, *, crf: float) -> None:
    """Encode frames of `SIZE_WH` as H.264 of a constant rate factor, as a camera's chip does."""
    with av.open(str(file), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(rate).limit_denominator(100))
        stream.width, stream.height = SIZE_WH
        stream.pix_fmt, stream.thread_count = "yuv420p", 1
        stream.options = {"preset": PRESETS[1], "crf": f"{crf:.1f}", "x264-params": CPU_INDEPENDENT}
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="bgr24")))
        container.mux(stream.encode(None))


def _from_zero(courses: Sequence[Course]) -> list[Course]:
    """Shift courses so that the first starts at 0."""
    start = min(float(course.times_s[0]) for course in courses)
    return [course.shift(-start) for course in courses]


def _vehicle(rng: np.random.Generator, country: Country, course: Course) -> Vehicle:
    name = country.drawn_formats[0] if rng.random() < 0.8 else None
    text, name = random_text(rng, country.formats, name)
    weight = float(np.round(rng.uniform(0.8, 1.0), 1))
    plate = country.plate_of(text, format_name=name, rng=rng, glyphs=fix_weight(glyph_mask, weight))
    car = with_plate(draw_car(rng, FACE_PX, course.front), plate)
    slope = (float(rng.uniform(0.02, 0.6)), float(rng.uniform(0.05, 0.45)))
    return Vehicle(plain(text), car, course, slope)


def _keep_plates(
    film: Iterator[tuple[Bgr, list[SeenPlate]]], plates_by_frame: list[list[SeenPlate]]
) -> Iterator[Bgr]:
    """Pass the frames on, and add their plates to a list."""
    for frame, plates in film:
        plates_by_frame.append(plates)
        yield frame


def _truth_of(
    index: int,
    vehicle: Vehicle,
    plates_by_frame: Sequence[list[SeenPlate]],
    times: Sequence[float],
    rate: float,
) -> TruthPass:
    boxes = []
    for number, plates in enumerate(plates_by_frame):
        for plate in plates:
            if plate.vehicle == index:
                low, high = plate.quad.min(axis=0), plate.quad.max(axis=0)
                x0, y0, x1, y1 = (round(float(side), 1) for side in (*low, *high))
                time_s = round(number / rate, 4)
                boxes.append(TruthBox(number, time_s, (x0, y0, x1, y1), plate.is_readable))
    readable = [box for box in boxes if box.readable]
    if not readable:
        return TruthPass(vehicle.text, None, None, tuple(boxes))
    first, last = readable[0], readable[-1]
    kmh = 3.6 * vehicle.course.mean_speed(times[first.frame], times[last.frame])
    return TruthPass(vehicle.text, first.time_s, last.time_s, tuple(boxes), kmh)


def _write_all(options: Namespace) -> None:
    country = country_of(options.formats)
    options.out.mkdir(parents=True, exist_ok=True)
    names = [*SCENARIOS]
    for index in range(options.count):
        scenario = names[index % len(names)]
        seed = 1000 * options.seed + index
        name = f"{options.conditions}-{seed:06d}-{scenario.replace(' ', '-')}"
        draw_clip(
            options.out / name, country, scenario=scenario, conditions=options.conditions, seed=seed
        )


def main(arguments: Sequence[str] | None = None) -> None:
    command = Command(
        "rendering.road.clips", "Clips of a road with known passes, each with a JSON file."
    )
    command.add_argument("--out", type=Path, required=True, help="folder to write")
    command.add_argument("--count", type=at_least(1), default=24)
    command.add_argument("--conditions", choices=("day", "night", "rain"), default="day")
    command.run(_write_all, arguments)


if __name__ == "__main__":
    main()
