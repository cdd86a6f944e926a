"""The alphabet and formats of Russian number plates, and what a recognised plate is.

Source: GOST R 50577-2018. Its twelve Cyrillic letters are written here as the Latin letters that
look the same, which is also how the plates are read abroad.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import pandas as pd

ALPHABET = "0123456789ABEKMHOPCTYX"
BLANK = len(ALPHABET)
MAX_LENGTH = 9
CANDIDATES = 5  # best readings told of each plate

_CLASSES = {"L": "[ABEKMHOPCTYX]", "D": "[0-9]"}


@dataclass(frozen=True)
class PlateFormat:
    """One layout of characters.

    Attributes:
        name: For example `ru_car`.
        layouts: One or more strings of `L` (letter) and `D` (digit), the region code last.
    """

    name: str
    layouts: tuple[str, ...]

    def __post_init__(self) -> None:
        for layout in self.layouts:
            if not layout or set(layout) - set(_CLASSES):
                raise ValueError(f"layout of {self.name}: wanted letters L and D, got {layout!r}")
            if len(layout) > MAX_LENGTH:
                raise ValueError(f"layout of {self.name}: wanted up to {MAX_LENGTH}, got {layout}")

    def matches(self, text: str) -> bool:
        """Tell whether the whole text has one of the layouts."""
        return any(
            re.fullmatch("".join(_CLASSES[kind] for kind in layout), text)
            for layout in self.layouts
        )


# The order settles texts that fit two formats: AP947756 is a trailer of region 56 (AP 9477 56)
# before it is a taxi of region 756.
FORMATS = (
    PlateFormat("ru_car", ("LDDDLLDD", "LDDDLLDDD")),
    PlateFormat("ru_trailer", ("LLDDDDDD",)),
    PlateFormat("ru_taxi", ("LLDDDDD", "LLDDDDDD")),
    PlateFormat("ru_transit", ("LLDDDLDD", "LLDDDLDDD")),
    PlateFormat("ru_military", ("DDDDLLDD",)),
    PlateFormat("ru_police", ("LDDDDDD", "LDDDDDDD")),
)


def format_of(text: str, formats: Iterable[PlateFormat] = FORMATS) -> str:
    """Return the name of the first format the text has, `""` for none."""
    return next((plate_format.name for plate_format in formats if plate_format.matches(text)), "")


@dataclass(frozen=True)
class Plate:
    """One plate found in a picture.

    Attributes:
        xyxy: Box in pixels of the picture that was sent, clipped to it.
        detection_score: In [0, 1].
        text: Latin look-alikes, `""` when it could not be read surely enough or has no format.
        text_score: In [0, 1], of the best reading, shown or not.
        raw_text: Best path before threshold and format rule.
        character_scores: In [0, 1], one per character of `raw_text`.
        candidates: Best readings that have a format, best first, with their scores.
        corners: The quadrilateral in picture pixels, clockwise from top-left.
        format: Name of the plate format of `text`, `""` for none.
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

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row per plate; the box as columns `x0`, `y0`, `x1`, `y1` in pixels."""
        import pandas as pd  # half a second, which Triton's workers need not spend

        others = [f.name for f in fields(Plate) if f.name != "xyxy"]
        rows = [
            dict(zip(("x0", "y0", "x1", "y1"), plate.xyxy, strict=True))
            | {name: value for name, value in asdict(plate).items() if name != "xyxy"}
            for plate in self.plates
        ]
        return pd.DataFrame(rows, columns=["x0", "y0", "x1", "y1", *others])
