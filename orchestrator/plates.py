"""A recognised plate, and the plates of one picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas as pd

CANDIDATES = 5  # best readings returned for each plate
SCORE_DECIMALS, PIXEL_DECIMALS = 4, 1
"""Decimals of the numbers in JSON and in tables, in files and over REST alike."""
MAX_SHOWN = 5
"""Largest number of texts that `repr` shows."""

LATIN = "ABEKMHOPCTYX"
CYRILLIC = "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"
"""The letters that look the same in both alphabets (GOST R 50577-2018): A, VE, IE, KA, EM, EN, O,
ER, ES, TE, U, HA. They are written as numbers so that nobody mixes them up."""
TO_CYRILLIC = str.maketrans(LATIN, CYRILLIC)
IN_CYRILLIC = "ru_"
"""Prefix of the names of formats whose letters are Cyrillic."""
IN_LATIN = "ru_diplomatic"
"""Prefix of the formats among these whose letters are Latin: CD, D and T (GOST R 50577-2018)."""

NEAR_PX, NEAR_EDGE = 2.5, (0.03, 0.06)
"""A plate may be cut by an edge of its picture that comes this near to it: in pixels, and as shares
of the box's width and height. Of 60 rendered plates that an edge cut, 282 looks showed another
text, none of them farther from it."""
FILLING = 0.6
"""A plate with a larger share of its picture's longer side was photographed, or cut out, on purpose
and whole."""

SIDES = ("x0", "y0", "x1", "y1")
COLUMNS = {
    "text": "string",
    "text_score": "float64",
    "detection_score": "float64",
    **dict.fromkeys(SIDES, "float64"),
    "character_scores": "object",
    "candidates": "object",
    "corners": "object",
    "raw_text": "string",
    "text_native": "string",
    "format": "string",
    "region_code": "string",
    "region": "string",
    "country": "string",
    "country_score": "float64",
}
"""Columns of the data frame, with their types. A terminal that is too narrow hides columns in the
middle, so the wide ones are there."""
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
class PlateCountry:
    """The country of a plate, read from its sign and its text.

    Attributes:
        code: ISO 3166 in lower case, `kz`.
        score: In [0, 1], its share of the probability of all candidates.
    """

    code: str
    score: float


@dataclass(frozen=True, repr=False)
class Plate:
    """One plate found in a picture.

    Attributes:
        xyxy: Box in pixels of the picture that was sent, clipped to it.
        detection_score: In [0, 1].
        text: Text in Latin letters that look like the plate's; `""` when its score is too low or it
            has no format. Plates that the edge of the picture may cut have low scores.
        text_score: In [0, 1], of the best reading, also if it is too low for `text`.
        raw_text: Best path before threshold and format rule.
        character_scores: In [0, 1], one per character of `raw_text`.
        candidates: Best readings that have a format, best first, with their scores.
        corners: The quadrilateral in picture pixels, clockwise from top-left.
        format: Name of the plate format of `text`, `""` for none.
        region: The region whose code `text` bears; None without a code, or with an unknown one.
        country: The country of `text`; None without a text, and from readers of one country.
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
    country: PlateCountry | None = None

    @property
    def text_native(self) -> str | None:
        """`text` in the letters that are on the plate; None if they are Latin, or without text."""
        return native_text(self.text, self.format)

    def __repr__(self) -> str:
        box = ", ".join(f"{side:.0f}" for side in self.xyxy)
        return f"Plate({self.text!r}, text_score={self.text_score:.2f}, xyxy=({box}))"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and `text_native` for JSON, with numbers rounded as over REST."""
        values = {name: _round(value, _decimals(name)) for name, value in asdict(self).items()}
        country = values.pop("country")  # a field only where the reader knows several countries
        if country:
            values["country"] = {
                name: _round(value, SCORE_DECIMALS) for name, value in country.items()
            }
        return values | {"text_native": self.text_native}

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


def country_code(format_name: str) -> str:
    """Return the country that a format's name begins with: `kz` of `kz_car`."""
    return format_name.partition("_")[0]


def native_text(text: str, format_name: str) -> str | None:
    """Return a plate's text in the letters that are on the plate, if they are not Latin.

    Args:
        text: The text in Latin letters.
        format_name: Name of the text's format.

    Returns:
        None for a format whose letters are Latin, an unknown format, or no format.
    """
    is_cyrillic = format_name.startswith(IN_CYRILLIC) and not format_name.startswith(IN_LATIN)
    return text.translate(TO_CYRILLIC) if text and is_cyrillic else None


def _decimals(field_name: str) -> int:
    return PIXEL_DECIMALS if field_name in {"xyxy", "corners", *SIDES} else SCORE_DECIMALS


def _round(value: Any, decimals: int) -> Any:
    """Return a value of a plate with all numbers in it rounded."""
    if isinstance(value, tuple):
        return tuple(_round(item, decimals) for item in value)
    return round(value, decimals) if isinstance(value, float) else value


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


@dataclass(frozen=True, repr=False)
class Plates(Sequence[Plate]):
    """The plates of one picture, best detection first.

    Attributes:
        note: What is wrong with a picture that was read nevertheless: its file has no end. `""` for
            nothing.
    """

    plates: tuple[Plate, ...] = field(default=())
    note: str = ""

    def __len__(self) -> int:
        return len(self.plates)

    @overload
    def __getitem__(self, index: int) -> Plate: ...
    @overload
    def __getitem__(self, index: slice) -> Plates: ...
    def __getitem__(self, index: int | slice) -> Plate | Plates:
        if isinstance(index, slice):
            return replace(self, plates=self.plates[index])
        return self.plates[index]

    def __iter__(self) -> Iterator[Plate]:
        return iter(self.plates)

    @property
    def texts(self) -> list[str]:
        """The texts of the plates that could be read; a plate without a text has none here."""
        return [plate.text for plate in self.plates if plate.text]

    def __repr__(self) -> str:
        texts, count = self.texts, len(self.plates)
        parts = [*texts[:MAX_SHOWN], *(["..."] if len(texts) > MAX_SHOWN else [])]
        if unread := count - len(texts):
            parts.append(f"{unread} without text")
        return f"Plates({count}{': ' if parts else ''}{', '.join(parts)})"

    def to_dict(self) -> dict[str, Any]:
        """Return `{"plates": [...]}` for JSON, each as `Plate.to_dict` gives it; and any `note`."""
        note = {"note": self.note} if self.note else {}
        return {"plates": [plate.to_dict() for plate in self.plates], **note}

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row per plate; the columns have the same types for any number of plates.

        The box has the columns `x0`, `y0`, `x1`, `y1`, in pixels. The region has `region_code` and,
        for its name, `region`. The country has `country` and `country_score`, which is NaN where
        there is none. Missing texts are `""`. `candidates` are dictionaries with `text` and
        `score`, so that the table can be written as Parquet.
        """
        import pandas as pd  # takes half a second; Triton's workers do not need it

        return pd.DataFrame(map(_to_row, self.plates), columns=list(COLUMNS)).astype(COLUMNS)

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
    return {
        **asdict(plate),
        **sides,
        "candidates": [{"text": text, "score": score} for text, score in plate.candidates],
        "text_native": plate.text_native or "",
        "region_code": region.code,
        "region": region.name,
        "country": plate.country.code if plate.country else "",
        "country_score": plate.country.score if plate.country else None,
    }
