"""Passes of made-up Russian vehicles, as rows for a quick fill."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.formats.plate_formats import BREAK, Formats, PlateFormat, russian

CAMERAS = tuple(f"camera {number}" for number in range(1, 21))
LISTS = ("residents", "wanted")
"""Names of the lists; their numbers are 1 and 2."""
HIT_SHARES = (0.02, 0.0001)
END_S = 1_760_000_000.0
SPAN_S = 30 * 86400.0
VEHICLES_SHARE = 0.7
"""Vehicles for each pass: some pass several times."""
READINGS = 4
OLD, OLD_SHARE = "QZ", 0.005
"""Texts begin with it that were seen at first, and later no more; the share of such passes."""
HOME = ("77", "97", "99", "177", "197", "199", "777", "797", "799", "977")
HOME_SHARE = 0.5
BEST = json.dumps({"time_s": END_S, "box": [812.4, 600.1, 971.9, 640.7], "size_wh": [1920, 1080]})
BOX = json.dumps([812.4, 600.1, 971.9, 640.7])
PASS_COLUMNS = (
    *("number", "id", "camera", "progress", "clock", "first_seen_s", "last_seen_s", "stored_s"),
    *("text", "text_score", "format", "region_code", "direction", "speed_widths_s", "frames"),
    *("candidates", "zones", "crossings", "best", "crop", "frame"),
)
READING_COLUMNS = (
    *("pass_number", "position", "time_s", "text", "score", "candidates", "box"),
    *("sharpness", "weight"),
)
HIT_COLUMNS = ("pass_number", "list_id", "entry_text", "note", "edits", "first_seen_s")
Values = tuple[object, ...]


@dataclass(frozen=True)
class MadePass:
    """The rows of one pass."""

    row: Values
    readings: tuple[Values, ...]
    hits: tuple[Values, ...]


def make_vehicles(count: int, rng: random.Random) -> list[tuple[str, str, str]]:
    """Return texts with their formats and region codes; half are from the region at home."""
    formats = russian()
    kinds = [one for one in formats.format if one.share > 0]
    drawn = rng.choices(kinds, [one.share for one in kinds], k=count)
    codes = [code for region in formats.region for code in region.codes]
    return [_make_vehicle(one, formats, codes, rng) for one in drawn]


def make_passes(count: int, seed: int = 0) -> Iterator[MadePass]:
    """Return passes in the order of their times."""
    rng = random.Random(seed)
    vehicles = make_vehicles(max(1, int(count * VEHICLES_SHARE)), rng)
    for number in range(1, count + 1):
        time_s = END_S - SPAN_S * (1 - number / count) + rng.uniform(-5, 5)
        text, kind, code = rng.choice(vehicles)
        if number <= count * OLD_SHARE:
            text = OLD + text[len(OLD) :]
        yield _make_pass(number, time_s, (text, kind, code), rng)


def _make_pass(
    number: int, time_s: float, vehicle: tuple[str, str, str], rng: random.Random
) -> MadePass:
    text, name, code = vehicle
    candidates = json.dumps([[text, 0.97], [text[:-1] + "1", 0.02]])
    digest = hashlib.sha256(str(number).encode()).digest()
    row = (
        *(number, f"{int(time_s * 1000):013x}-{number:08x}", rng.choice(CAMERAS), "closed"),
        *("wall", time_s, time_s + 2.5, time_s + 3, text, 0.97, name, code),
        *(rng.choice(("", "towards", "away")), 0.8, READINGS, candidates, '["gate"]', "[]"),
        *(BEST, digest, hashlib.sha256(digest).digest()),
    )
    read = [(number, at, time_s + at, text, 0.9, candidates, BOX) for at in range(READINGS)]
    drawn = rng.random()
    hits = [number for number, share in enumerate(HIT_SHARES, 1) if drawn < share]
    return MadePass(
        row,
        tuple((*one, 0.7, 0.25) for one in read),
        tuple((number, list_id, text, "", 0, time_s) for list_id in hits),
    )


def _make_vehicle(
    kind: PlateFormat, formats: Formats, codes: list[str], rng: random.Random
) -> tuple[str, str, str]:
    layout = rng.choice(kind.layouts).replace(BREAK, "")
    digits = layout.count("R")
    fitting = [code for code in HOME if len(code) == digits]
    if rng.random() > HOME_SHARE or not fitting:
        fitting = [code for code in codes if len(code) == digits] or [""]
    code = rng.choice(fitting)
    region = iter(code)
    chars = [next(region, "0") if one == "R" else _draw(one, formats, rng) for one in layout]
    return "".join(chars), kind.name, code


def _draw(place: str, formats: Formats, rng: random.Random) -> str:
    if place == "D":
        return rng.choice("0123456789")
    return rng.choice(formats.letters) if place == "L" else place.upper()
