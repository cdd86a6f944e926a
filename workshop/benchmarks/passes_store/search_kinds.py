"""The kinds of searches that are timed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from plate_cameras.store.finding.pass_query import PassQuery
from workshop.benchmarks.passes_store.made_passes import CAMERAS, END_S, HOME, OLD, SPAN_S

LETTERS = "ABEKMHOPCTYX"


def _other(char: str, rng: random.Random) -> str:
    return rng.choice([one for one in ("0123456789" if char.isdigit() else LETTERS) if one != char])


def _misread(text: str, edits: int, rng: random.Random) -> str:
    chars = list(text)
    for at in rng.sample(range(len(chars)), edits):
        chars[at] = _other(chars[at], rng)
    return "".join(chars)


def _at_home(text: str, rng: random.Random) -> str:
    """Return a text with a region that many vehicles have; it has the most similar texts."""
    return text[:6] + rng.choice(HOME)


def _span(rng: random.Random, length_s: float = 3600) -> dict[str, Any]:
    start_s = END_S - SPAN_S * rng.uniform(0.1, 0.9)
    return {"from_s": start_s, "until_s": start_s + length_s}


Make = Callable[[str, random.Random], PassQuery]
KINDS: dict[str, Make] = {
    "newest": lambda text, rng: PassQuery(),
    "whole text": lambda text, rng: PassQuery(text),
    "prefix of four": lambda text, rng: PassQuery(text[:4] + "*"),
    "prefix of one": lambda text, rng: PassQuery(text[0] + "*"),
    "part of four": lambda text, rng: PassQuery(parts=(text[1:5],)),
    "part of three": lambda text, rng: PassQuery(parts=(text[-3:],)),
    "three digits": lambda text, rng: PassQuery(parts=(f"{rng.randrange(1000):03}",)),
    "three digits of the region": lambda text, rng: PassQuery(parts=(rng.choice(HOME[3:]),)),
    "part of two": lambda text, rng: PassQuery(parts=(text[2:4],)),
    "two digits": lambda text, rng: PassQuery(parts=(f"{rng.randrange(100):02}",)),
    "part of one": lambda text, rng: PassQuery(parts=(rng.choice(text),)),
    "end of three": lambda text, rng: PassQuery("*" + text[-3:]),
    "wildcard * in the middle": lambda text, rng: PassQuery(text[:2] + "*" + text[-4:]),
    "wildcards ? in the middle": lambda text, rng: PassQuery(text[:2] + "??" + text[4:]),
    "part that is nowhere": lambda text, rng: PassQuery(parts=("WW" + text[-2:],)),
    "two characters that are nowhere": lambda text, rng: PassQuery(parts=("WW",)),
    "one character that is nowhere": lambda text, rng: PassQuery(parts=("W",)),
    "two characters, a camera and a day": lambda text, rng: PassQuery(
        parts=(text[1:3],), cameras=(rng.choice(CAMERAS),), **_span(rng, 86400)
    ),
    "two characters, seen long ago": lambda text, rng: PassQuery(parts=(OLD,)),
    "prefix seen long ago, region": lambda text, rng: PassQuery(OLD + "*", region_code=text[-2:]),
    "one edit": lambda text, rng: PassQuery(_misread(text, 1, rng), edits=1),
    "two edits": lambda text, rng: PassQuery(_misread(text, 2, rng), edits=2),
    "two edits, region at home": lambda text, rng: PassQuery(
        _misread(_at_home(text, rng), 2, rng), edits=2
    ),
    "camera and an hour": lambda text, rng: PassQuery(cameras=(rng.choice(CAMERAS),), **_span(rng)),
    "three cameras": lambda text, rng: PassQuery(cameras=tuple(rng.sample(CAMERAS, 3))),
    "region": lambda text, rng: PassQuery(region_code=text[-2:]),
    "region and camera": lambda text, rng: PassQuery(
        region_code=text[-2:], cameras=(rng.choice(CAMERAS),)
    ),
    "list": lambda text, rng: PassQuery(list_name="residents"),
    "rare list and camera": lambda text, rng: PassQuery(
        list_name="wanted", cameras=(rng.choice(CAMERAS),)
    ),
    "zone and direction": lambda text, rng: PassQuery(zones=("gate",), direction="away"),
    "prefix, camera, a day": lambda text, rng: PassQuery(
        text[:2] + "*",
        cameras=(rng.choice(CAMERAS),),
        from_s=END_S - 3 * 86400,
        until_s=END_S - 2 * 86400,
    ),
}
