"""The alphabet and formats of number plates, and what a recognised plate is.

Alphabet and formats come from `plates.toml`, Russian plates, or from the file that the environment
variable `PLATE_FORMATS` names: another country's.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, overload

from orchestrator.errors import SettingsError
from orchestrator.toml_files import read_table

if TYPE_CHECKING:
    import pandas as pd

MAX_LENGTH = 9
CANDIDATES = 5  # best readings told of each plate

SIDES = ("x0", "y0", "x1", "y1")
COLUMNS = (
    *("text", "text_score", "detection_score", *SIDES),
    *("character_scores", "candidates", "corners", "raw_text", "format"),
)
"""Of the data frame. A terminal that is too narrow leaves those in the middle out: the wide ones
are there."""
SHOWN = ("text", "text_score", "raw_text", "format", "detection_score", *SIDES)
"""Columns of a plate's table for people."""
SCORE = "{:.2f}".format


@dataclass(frozen=True)
class PlateFormat:
    """One layout of characters.

    Attributes:
        name: For example `ru_car`.
        layouts: One or more strings of `L` (letter) and `D` (digit), the region code last.

    Raises:
        SettingsError: No plate can have such a layout.
    """

    name: str
    layouts: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.name or not self.layouts:
            raise SettingsError(f"format {self.name!r}: wanted a name and layouts, got none")
        for layout in self.layouts:
            if not layout or set(layout) - {"L", "D"}:
                raise SettingsError(
                    f"layout of {self.name}: wanted letters L and D, got {layout!r}"
                )
            if len(layout) > MAX_LENGTH:
                raise SettingsError(
                    f"layout of {self.name}: wanted up to {MAX_LENGTH} characters, got {layout}"
                )

    def matches(self, text: str) -> bool:
        """Tell whether the whole text has one of the layouts."""
        return "".join(_KINDS.get(char, "?") for char in text) in self.layouts


@dataclass(frozen=True)
class PlateRules:
    """What plates may say: the content of `plates.toml`.

    Attributes:
        alphabet: Every character a plate may have, in the order of the reader's classes.
        format: The formats, the one that settles a text that fits two first.

    Raises:
        SettingsError: A character or a name comes twice, there is no format, or a layout asks for
            letters or digits that the alphabet does not have.
    """

    alphabet: str
    format: tuple[PlateFormat, ...]

    def __post_init__(self) -> None:
        _check_single("alphabet: wanted each character", self.alphabet)
        _check_single("formats: wanted each name", (one.name for one in self.format))
        if any(char.isspace() for char in self.alphabet):
            raise SettingsError(f"alphabet: wanted no spaces, got {self.alphabet!r}")
        if not self.format:
            raise SettingsError("formats: wanted at least one [[format]], got none")
        used = {kind for one in self.format for layout in one.layouts for kind in layout}
        missing = sorted(used - set(map(kind_of, self.alphabet)))
        if missing:
            wanted = {"D": "digits", "L": "letters"}[missing[0]]
            raise SettingsError(f"alphabet: wanted {wanted} for the layouts, got {self.alphabet!r}")


def kind_of(char: str) -> str:
    """Return what a character of the alphabet is in a layout: `D`, a digit, or `L`."""
    return "D" if char.isdigit() else "L"


def _check_single(wanted: str, values: Iterable[str]) -> None:
    double = [value for value, count in Counter(values).items() if count > 1]
    if double:
        raise SettingsError(f"{wanted} once, got {double[0]!r} more than once")


SHIPPED_RULES = Path(__file__).with_name("plates.toml")
RULES_FILE = Path(os.environ.get("PLATE_FORMATS") or SHIPPED_RULES)
RULES = read_table(PlateRules, RULES_FILE)

ALPHABET = RULES.alphabet
BLANK = len(ALPHABET)
FORMATS = RULES.format
_KINDS = {char: kind_of(char) for char in ALPHABET}


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

        rows = [asdict(plate) | dict(zip(SIDES, plate.xyxy, strict=True)) for plate in self.plates]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def to_text(self, unread: str = "") -> str:
        """Return a table for people, within 80 columns.

        Args:
            unread: What to show for a text that is `""`.
        """
        if not self.plates:
            return "no plates"
        table = self._summary()
        table["text"] = table["text"].replace("", unread)
        return str(table.to_string(index=False, float_format=SCORE))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """Return the table as a Jupyter notebook shows it."""
        return str(self._summary().to_html(index=False, float_format=SCORE))

    def _summary(self) -> pd.DataFrame:
        table = self.to_dataframe()[list(SHOWN)]
        for side in SIDES:
            table[side] = table[side].astype(float).round().astype(int)
        return table
