"""A recognised plate, and the plates of one picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas as pd

CANDIDATES = 5  # best readings returned for each plate

SIDES = ("x0", "y0", "x1", "y1")
COLUMNS = (
    *("text", "text_score", "detection_score", *SIDES),
    *("character_scores", "candidates", "corners", "raw_text", "format", "region_code", "region"),
)
"""Columns of the data frame. A terminal that is too narrow hides columns in the middle, so the wide
ones are there."""
SHOWN = ("text", "text_score", "raw_text", "format", "detection_score", *SIDES)
"""Columns of a plate's table for people."""
SCORE = "{:.2f}".format


@dataclass(frozen=True)
class PlateRegion:
    """The region in which a plate is registered.

    Attributes:
        code: The code on the plate, `77`.
        name: Name of the region with this code, `Moscow`.
    """

    code: str
    name: str


@dataclass(frozen=True)
class Plate:
    """One plate found in a picture.

    Attributes:
        xyxy: Box in pixels of the picture that was sent, clipped to it.
        detection_score: In [0, 1].
        text: Text in Latin letters that look like the plate's; `""` when its score is too low or it
            has no format.
        text_score: In [0, 1], of the best reading, shown or not.
        raw_text: Best path before threshold and format rule.
        character_scores: In [0, 1], one per character of `raw_text`.
        candidates: Best readings that have a format, best first, with their scores.
        corners: The quadrilateral in picture pixels, clockwise from top-left.
        format: Name of the plate format of `text`, `""` for none.
        region: The region whose code `text` bears; None without a code, or with an unknown one.
    """

    xyxy: tuple[float, float, float, float]
    detection_score: float = 0.0
    text: str = ""
    text_score: float = 0.0
    raw_text: str = ""
    character_scores: tuple[float, ...] = ()
    candidates: tuple[tuple[str, float], ...] = ()
    corners: tuple[tuple[float, float], ...] = ()
    format: str = ""
    region: PlateRegion | None = None


@dataclass(frozen=True)
class Plates(Sequence[Plate]):
    """The plates of one picture, best detection first."""

    plates: tuple[Plate, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.plates)

    @overload
    def __getitem__(self, index: int) -> Plate: ...
    @overload
    def __getitem__(self, index: slice) -> Plates: ...
    def __getitem__(self, index: int | slice) -> Plate | Plates:
        if isinstance(index, slice):
            return Plates(self.plates[index])
        return self.plates[index]

    def __iter__(self) -> Iterator[Plate]:
        return iter(self.plates)

    @property
    def texts(self) -> list[str]:
        return [plate.text for plate in self.plates]

    def to_dict(self) -> dict[str, Any]:
        """Return the plates for JSON: `{"plates": [...]}`, each with the fields of a `Plate`."""
        return {"plates": [asdict(plate) for plate in self.plates]}

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row per plate.

        The box has the columns `x0`, `y0`, `x1`, `y1`, in pixels. The region has `region_code` and,
        for its name, `region`; both are `""` for no region.
        """
        import pandas as pd  # takes half a second; Triton's workers do not need it

        return pd.DataFrame(map(_to_row, self.plates), columns=list(COLUMNS))

    def to_text(self, unread: str = "") -> str:
        """Return a table for people, within 80 columns.

        Args:
            unread: Replacement for an empty text.
        """
        if not self.plates:
            return "no plates"
        table = self._summary()
        table["text"] = table["text"].replace("", unread)
        return str(table.to_string(index=False, float_format=SCORE))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """Return the table in the form for a Jupyter notebook."""
        return str(self._summary().to_html(index=False, float_format=SCORE))

    def _summary(self) -> pd.DataFrame:
        table = self.to_dataframe()[list(SHOWN)]
        for side in SIDES:
            table[side] = table[side].astype(float).round().astype(int)
        return table


def _to_row(plate: Plate) -> dict[str, Any]:
    """Return the values of a data frame's columns, and some more."""
    region = plate.region or PlateRegion("", "")
    sides = dict(zip(SIDES, plate.xyxy, strict=True))
    return asdict(plate) | sides | {"region_code": region.code, "region": region.name}
