"""Searches and a plain scan of all passes have the same results, with every query plan."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from plate_cameras.store.finding import search as pass_finder
from plate_cameras.store.finding.pass_query import MAX_PAGE, PassQuery
from plate_cameras.store.finding.text_patterns import MIN_WHOLE
from plate_cameras.store.pass_store import PassStore
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, make_event

COUNT = 300
LETTERS, DIGITS, REGIONS = "ABE", "0127", ("77", "177", "50", "07")
CAMERAS = ("gate", "yard", "roof")
PLANS = {"looked up": (2000, 1), "walked in part": (20, 60), "walked": (-1, 1)}
"""Limits that select a plan: passes that are looked up, and steps of the first walk."""


@dataclass(frozen=True)
class ScannedPass:
    """A pass in the form for the scan."""

    id: str
    text: str
    camera: str
    first_seen_s: float


def make_passes() -> list[ScannedPass]:
    """Return passes with similar texts; the oldest have other regions."""
    rng = random.Random(5)
    samples = []
    for number in range(COUNT):
        regions = REGIONS[2:] if number < COUNT / 2 else REGIONS
        digits = "".join(rng.choices(DIGITS, k=3))
        letters = rng.choices(LETTERS, k=3)
        text = f"{letters[0]}{digits}{letters[1]}{letters[2]}{rng.choice(regions)}"
        text = rng.choice((text, text, text[1:], text[:5] + text[6:], ""))
        seen_s = NOW_S - COUNT + number // 2  # two passes at each time
        samples.append(ScannedPass(f"p{number:03}", text, rng.choice(CAMERAS), seen_s))
    rng.shuffle(samples)
    return samples


PASSES = make_passes()


@pytest.fixture(scope="module")
def filled_store(empty_store: PassStore) -> PassStore:
    events = [
        make_event(sample.id, sample.text, camera=sample.camera, first_seen_s=sample.first_seen_s)
        for sample in PASSES
    ]
    empty_store.write(events, [])
    return empty_store


def matches(sample: ScannedPass, query: PassQuery) -> bool:
    is_part = len(query.text) < MIN_WHOLE and not {*"*?"} & {*query.text}
    wanted_text = f"*{query.text}*" if is_part else query.text
    pattern = re.escape(wanted_text).replace(r"\*", ".*").replace(r"\?", ".")
    is_near = bool(query.edits) and Levenshtein.distance(sample.text, query.text) <= query.edits
    return (
        (is_near or bool(not query.edits and re.fullmatch(pattern, sample.text)))
        and all(part in sample.text for part in query.parts)
        and (not query.cameras or sample.camera in query.cameras)
        and (query.from_s is None or sample.first_seen_s >= query.from_s)
        and (query.until_s is None or sample.first_seen_s < query.until_s)
    )


def scan(query: PassQuery, numbers: Mapping[str, int]) -> list[str]:
    """Return the ids of a page by looking at every pass."""
    samples = [sample for sample in PASSES if matches(sample, query)]
    samples.sort(key=lambda sample: (sample.first_seen_s, numbers[sample.id]), reverse=True)
    return [sample.id for sample in samples][: query.limit]


def pick_pieces(pattern: str) -> st.SearchStrategy[str]:
    return st.sampled_from(
        sorted({part for sample in PASSES for part in cut(sample.text, pattern)})
    )


def cut(text: str, pattern: str) -> Iterator[str]:
    """Return the pieces of a text within a pattern, such as `{}*` for prefixes."""
    for start, end in product(range(len(text)), range(1, len(text) + 1)):
        is_start, is_end = not pattern.startswith("*"), not pattern.endswith("*")
        if start < end and not (is_start and start) and not (is_end and end < len(text)):
            yield pattern.format(text[start:end])


texts = st.one_of(
    *(pick_pieces(pattern) for pattern in ("{}", "{}*", "*{}", "*{}*", "?{}*")),
    st.sampled_from(["A???BE77", "A*7", "?0*77", "*Q*", "QQ*", "A1*BE*", "*0?7*"]),
)
parts = st.lists(
    pick_pieces("{}").map(lambda text: text[:4]) | st.sampled_from(["Q", "7Q"]), max_size=2
)
similar = st.tuples(
    pick_pieces("{}").filter(lambda text: len(text) >= 7),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["", "A", "7", "Q", "01"])), max_size=2),
).map(lambda draw: damage(*draw))
others: dict[str, st.SearchStrategy[Any]] = {
    "cameras": st.sampled_from([(), (), ("gate",), ("yard", "roof"), ("attic",)]),
    "from_s": st.none() | st.integers(0, COUNT // 2).map(lambda after: NOW_S - COUNT + after),
    "until_s": st.none() | st.integers(0, COUNT // 2).map(lambda after: NOW_S - COUNT + after),
    "limit": st.integers(1, 60),
}
queries = st.one_of(
    st.fixed_dictionaries({"text": texts, "parts": parts.map(tuple), **others}),
    st.fixed_dictionaries({"text": similar, "edits": st.integers(1, 2), **others}),
)


def damage(text: str, edits: Sequence[tuple[int, str]]) -> str:
    """Return a text with some characters replaced, doubled or removed, but not too short."""
    chars = [*text]
    for at, char in edits:
        chars[at % len(chars)] = char
    return "".join(chars).ljust(7, "0")


@pytest.mark.parametrize(
    ("rare", "steps"), [pytest.param(*values, id=name) for name, values in PLANS.items()]
)
def test_a_search_finds_what_a_scan_finds(
    filled_store: PassStore, monkeypatch: pytest.MonkeyPatch, rare: int, steps: int
) -> None:
    monkeypatch.setattr(pass_finder, "RARE", rare)
    monkeypatch.setattr(pass_finder, "RARE_LATELY", rare)
    monkeypatch.setattr(pass_finder, "FIRST_STEPS", steps)
    everything = filled_store.search(PassQuery(limit=MAX_PAGE), REQUESTER).passes
    numbers = {found_pass.id: found_pass.number for found_pass in everything}

    @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
    @given(queries)
    def check(conditions: dict[str, Any]) -> None:
        query = PassQuery(**conditions)
        page = filled_store.search(query, REQUESTER)
        assert [found_pass.id for found_pass in page.passes] == scan(query, numbers)

    check()
