"""The result of one picture, in the form for result files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from orchestrator.cli.recognition.watchlist import Hit
from orchestrator.plates import SIDES, Plate, Plates

OF_COUNTRIES = ("country", "country_score")
"""Columns that only a service fills which reads several countries."""
COLUMNS = (
    "picture",
    "error",
    "plates",
    "plate",
    "text",
    "text_score",
    "raw_text",
    "format",
    "region_code",
    "region",
    "detection_score",
    *SIDES,
    "watchlist",
    "watchlist_distance",
    *OF_COUNTRIES,
)
"""Columns of a table with one row for each plate. A picture without plates, or that failed, has one
row, too."""
Row = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """The result of one picture.

    Attributes:
        picture: Its name.
        plates: The plates found.
        error: Reason why there is no answer; empty if there is one.
        hits: Entry of the watchlist for each plate; None without a watchlist.
    """

    picture: str
    plates: Plates = field(default_factory=Plates)
    error: str = ""
    hits: tuple[Hit | None, ...] | None = None

    def choose_shown(self, *, is_all: bool) -> list[tuple[Plate, Hit | None]]:
        """Return the plates to show to people, each with its entry of the watchlist.

        These plates have a text or are on the watchlist; noise has neither.

        Args:
            is_all: All plates.
        """
        hits = self.hits or (None,) * len(self.plates)
        pairs = zip(self.plates, hits, strict=True)
        return [(plate, hit) for plate, hit in pairs if is_all or plate.text or hit]

    def to_line(self) -> str:
        """Return a JSON object in one line: `picture` and `plates`, or `picture` and `error`."""
        line = json.dumps(self._to_dict(), ensure_ascii=False)
        try:
            line.encode()
        except UnicodeEncodeError:  # a file name that is not UTF-8
            return json.dumps(self._to_dict())
        return line

    def to_rows(self) -> Iterator[Row]:
        """Yield the rows of a table; missing values are None."""
        count = len(self.plates)
        first: Row = {**dict.fromkeys(COLUMNS), "picture": self.picture}
        if self.error:
            yield first | {"error": self.error}
        elif not count:
            yield first | {"plates": 0, "plate": 0}
        for number, plate in enumerate(self.plates, 1):
            hit = self.hits[number - 1] if self.hits else None
            yield first | {"plates": count, "plate": number} | _columns_of(plate, hit)

    def _to_dict(self) -> dict[str, Any]:
        if self.error:
            return {"picture": self.picture, "error": self.error}
        document = self.plates.to_dict()
        if self.hits is not None:
            for plate, hit in zip(document["plates"], self.hits, strict=True):
                plate["watchlist"] = asdict(hit) if hit else None
        return {"picture": self.picture, **document}


def _columns_of(plate: Plate, hit: Hit | None) -> Row:
    values = plate.to_dict()
    columns: Row = {
        name: values[name]
        for name in ("text", "text_score", "raw_text", "format", "detection_score")
    }
    if plate.region:
        columns |= {"region_code": plate.region.code, "region": plate.region.name}
    if country := values.get("country"):
        columns |= {"country": country["code"], "country_score": country["score"]}
    if hit:
        columns |= {"watchlist": hit.plate, "watchlist_distance": hit.distance}
    return columns | dict(zip(SIDES, values["xyxy"], strict=True))
