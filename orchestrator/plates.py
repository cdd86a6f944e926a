"""A recognised plate, and the plates of one picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas as pd

CANDIDATES = 5  # best readings returned for each plate

NEAR_PX, NEAR_EDGE = 2.5, (0.03, 0.06)
"""A plate may be cut by an edge of its picture that comes this near to it: in pixels, and as shares
of the box's width and height. Of 60 rendered plates that an edge cut, 282 looks showed another
text, none of them farther from it."""
FILLING = 0.6
"""A plate with a larger share of its picture's longer side was photographed, or cut out, on purpose
and whole."""

SIDES = ("x0", "y0", "x1", "y1")
COLUMNS = (
    "text",
    "text_score",
    "detection_score",
    *SIDES,
    "character_scores",
    "candidates",
    "corners",
    "raw_text",
    "format",
    "region_code",
    "region",
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
            has no format. Plates that the edge of the picture may cut have low scores.
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

    def may_be_cut(self, size_wh: tuple[int, int]) -> bool:
        """Tell whether an edge of the picture may cut the plate: its box or a corner is near.

        A cut plate is often read as another one, with a high score: `A123BC777` as `A123BC77`.

        Args:
            size_wh: Size of the picture, pixels.
        """
        if self.xyxy[2] - self.xyxy[0] >= FILLING * max(size_wh):
            return False
        xs, ys = zip(self.xyxy[:2], self.xyxy[2:], *self.corners, strict=True)
        return is_near((min(xs), min(ys), max(xs), max(ys)), (0, 0, *size_wh), NEAR_EDGE)


def is_near(
    xyxy: tuple[float, float, float, float],
    border: tuple[float, float, float, float],
    shares: tuple[float, float],
) -> bool:
    """Tell whether a box comes near to the border round it, or lies across.

    Args:
        xyxy: The box.
        border: The border, xyxy.
        shares: Distances that are near, as shares of the box's width and height.
    """
    x0, y0, x1, y1 = xyxy
    left, top, right, bottom = border
    near_x, near_y = max(NEAR_PX, shares[0] * (x1 - x0)), max(NEAR_PX, shares[1] * (y1 - y0))
    return min(x0 - left, right - x1) < near_x or min(y0 - top, bottom - y1) < near_y


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
