"""Searches for passes, and what they find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import ParameterError
from plate_cameras.store.scope import EVERYTHING, Scope

LIMIT = 50
MAX_PAGE = 1000
"""Most passes on one page."""
MAX_NAMES = 200
"""Largest number of cameras, or zones, of a search."""
MAX_PARTS = 10
"""Largest number of parts of a text. Each is looked up in the index of texts."""


@dataclass(frozen=True)
class Requester:
    """The person who asks, for the audit.

    Attributes:
        who: Name of a person or program.
        why: The reason, for example the number of a case.
        scope: The groups of cameras that the person may see. Nothing of others is found, counted
            or changed.
        is_automatic: True if a page asks by itself, and nobody has searched.
    """

    who: str
    why: str
    scope: Scope = EVERYTHING
    is_automatic: bool = False

    def __post_init__(self) -> None:
        for name in ("who", "why"):
            if not getattr(self, name).strip():
                raise ParameterError(f"{name}: wanted a text, got none")


@dataclass(frozen=True)
class PassQuery:
    """A search. Each condition that is given must hold.

    Attributes:
        text: The whole text; `*` stands for any characters, `?` for one. Fewer than eight
            characters without these, and without edits, are a part of it, unless they are in double
            quotes. Cyrillic letters count as their Latin look-alikes.
        parts: Parts that the text has.
        edits: Most characters by which the text may differ, 0 to 2.
        cameras: Names of cameras; all if empty.
        from_s: Unix time; passes that were first seen then or later.
        until_s: Unix time; passes that were first seen earlier.
        region_code: Code of the region.
        list_name: Name of a list that the pass has hit.
        zones: Zones of which the pass was seen in one or more.
        direction: `towards` or `away`.
        limit: Most passes to return.
        cursor: The place where the previous page ended.
    """

    text: str = ""
    parts: tuple[str, ...] = ()
    edits: int = 0
    cameras: tuple[str, ...] = ()
    from_s: float | None = None
    until_s: float | None = None
    region_code: str = ""
    list_name: str = ""
    zones: tuple[str, ...] = ()
    direction: str = ""
    limit: int = LIMIT
    cursor: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_PAGE:
            raise ParameterError(f"limit: wanted 1 to {MAX_PAGE}, got {self.limit}")
        for name, most in (("cameras", MAX_NAMES), ("zones", MAX_NAMES), ("parts", MAX_PARTS)):
            if (count := len(getattr(self, name))) > most:
                raise ParameterError(f"{name}: wanted at most {most}, got {count}")
        if self.direction not in ("", "towards", "away"):
            raise ParameterError(f"direction: wanted towards or away, got {self.direction!r}")
        if self.edits and not self.text:
            raise ParameterError(f"text: wanted one for {self.edits} edits, got none")

    def to_dict(self) -> dict[str, Any]:
        """Return the conditions that are given, for the audit."""
        default = vars(PassQuery())
        return {name: value for name, value in vars(self).items() if value != default[name]}


@dataclass(frozen=True)
class FoundPass:
    """A pass as it is stored.

    The attributes are those of `Pass`, except these.

    Attributes:
        region_code: Code of the region of `text`, `""` for none.
        frames: Number of its readings.
        crossings: Lines with `side` and `time_s`.
        best: `time_s`, `box` and `size_wh` of the best frame.
        crop: Hash of the picture of the plate, in hexadecimal digits; None without one.
        frame: Hash of the whole frame.
    """

    number: int
    id: str
    camera: str
    progress: str
    clock: str
    first_seen_s: float
    last_seen_s: float
    stored_s: float
    text: str
    text_score: float
    format: str
    region_code: str
    direction: str
    speed_widths_s: float
    speed_kmh: float | None
    speed_error_kmh: float | None
    frames: int
    candidates: tuple[tuple[str, float], ...]
    zones: tuple[str, ...]
    crossings: tuple[Mapping[str, Any], ...]
    best: Mapping[str, Any]
    crop: str | None
    frame: str | None


@dataclass(frozen=True)
class PassPage:
    """Passes, the newest first.

    Attributes:
        passes: The passes.
        cursor: The `cursor` for the next page; `""` after the last.
        hits: Matched entries of lists by the number of the pass; passes without a match are
            missing.
    """

    passes: tuple[FoundPass, ...]
    cursor: str = ""
    hits: Mapping[int, tuple[StoredHit, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredReading:
    """The plate in one frame of a stored pass; see `Observation`."""

    time_s: float
    text: str
    score: float
    candidates: tuple[tuple[str, float], ...]
    box: tuple[float, ...]
    sharpness: float
    weight: float
    source: str = ""


@dataclass(frozen=True)
class StoredHit:
    """An entry of a list that a stored pass matched when it was written."""

    list: str
    text: str
    note: str
    edits: int


@dataclass(frozen=True)
class PassDetails:
    """A pass with everything that belongs to it.

    Attributes:
        neighbours: Other passes of the same plate, the newest first, if they were asked for.
    """

    found_pass: FoundPass
    readings: tuple[StoredReading, ...]
    hits: tuple[StoredHit, ...]
    neighbours: tuple[FoundPass, ...] = ()


def parse_cursor(cursor: str) -> tuple[float, int] | None:
    """Return the time and number of the last pass of the previous page.

    Raises:
        ParameterError: The cursor is not one of ours.
    """
    if not cursor:
        return None
    time_s, _, number = cursor.partition("_")
    try:
        return float(time_s), int(number)
    except ValueError as error:
        raise ParameterError(f"cursor: wanted one of a page, got {cursor!r}") from error
