"""What number plates may say: the alphabet, the layouts and the region codes of a country.

Read once, where a program begins, and passed on from there: two countries can live in one process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.toml_files import check_range, read_table

MAX_LENGTH = 9
"""Characters of a text: what a row of the output `character_scores` has room for."""
MOST_LAYOUTS = 63
MOST_CHARACTERS = 126
"""Of an alphabet. Like the layouts' it is a limit of the beam search, whose sets and texts are
whole numbers of 64 bits."""
COUNTRIES = Path(__file__).with_name("countries")
"""Folders of the countries that the project knows."""
RUSSIA = COUNTRIES / "russia" / "formats.toml"
KINDS = {"L": "letters", "D": "digits", "R": "digits"}
BREAK = "/"
"""In a layout: here the second line of the plate begins."""


@dataclass(frozen=True)
class PlateFormat:
    """One kind of plate.

    Attributes:
        name: For example `ru_car`.
        layouts: One or more strings of `L` (letter), `D` (digit) and `R` (a region's digit), with
            a `/` where a plate of two lines goes on below.
        share: How often it is rendered, beside the other formats' shares; 0: never.

    Raises:
        SettingsError: No plate can have such a layout.
    """

    name: str
    layouts: tuple[str, ...]
    share: float = 1.0

    def __post_init__(self) -> None:
        if not self.name or not self.layouts:
            raise SettingsError(f"format {self.name!r}: wanted a name and layouts, got none")
        for layout in self.layouts:
            lines = layout.split(BREAK)
            if len(lines) > 2 or not all(lines) or set("".join(lines)) - set(KINDS):
                raise SettingsError(
                    f"layout of {self.name}: wanted letters L, D and R, and at most one {BREAK} "
                    f"between them, got {layout!r}"
                )
            if len("".join(lines)) > MAX_LENGTH:
                raise SettingsError(
                    f"layout of {self.name}: wanted up to {MAX_LENGTH} characters, got {layout}"
                )
        check_range(f"share of {self.name}", self.share, 0, 1_000_000)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The layouts in `L` and `D` alone: what kind of character is where."""
        return tuple(kinds_of(layout) for layout in self.layouts)


@dataclass(frozen=True)
class Region:
    """A part of the country, with the codes that its plates bear."""

    name: str
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Formats:
    """The plates of a country, as its TOML file has them.

    Attributes:
        alphabet: Every character a plate may have, in the order of the reader's classes.
        format: The kinds of plates, the one that settles a text that fits two first.
        region: The regions whose codes the plates bear.
        renderer: `module:function` that draws such plates, see `rendering.country`; the module is
            a file beside the formats' own, or can be imported. They cannot be drawn when empty.

    Raises:
        SettingsError: A character, a name or a code comes twice, there is no format or there are
            too many, or a layout or a code asks for letters or digits that the alphabet does not
            have.
    """

    alphabet: str
    format: tuple[PlateFormat, ...]
    region: tuple[Region, ...] = ()
    renderer: str = ""

    def __post_init__(self) -> None:
        _check_alphabet(self.alphabet)
        _check_single("formats: wanted each name", (one.name for one in self.format))
        codes = [code for one in self.region for code in one.codes]
        _check_single("regions: wanted each code", codes)
        for code in codes:
            if not code or set(code) - {char for char in self.alphabet if char.isdigit()}:
                raise SettingsError(f"regions: wanted codes of the alphabet's digits, got {code!r}")
        layouts = [layout for one in self.format for layout in one.layouts]
        if not 1 <= len(layouts) <= MOST_LAYOUTS:
            raise SettingsError(
                f"formats: wanted 1 to {MOST_LAYOUTS} layouts in [[format]], got {len(layouts)}"
            )
        kinds = set(map(kind_of, self.alphabet))
        for kind in sorted({kind for one in self.format for kind in "".join(one.kinds)} - kinds):
            raise SettingsError(
                f"alphabet: wanted {KINDS[kind]} for the layouts, got {self.alphabet!r}"
            )

    @property
    def blank(self) -> int:
        """The reader's class after those of the alphabet: CTC's blank."""
        return len(self.alphabet)

    @property
    def classes(self) -> int:
        """How many classes the reader has."""
        return len(self.alphabet) + 1

    def layouts(self, lines: int) -> tuple[str, ...]:
        """Return the layouts of plates with so many lines, 1 or 2."""
        all_layouts = (layout for one in self.format for layout in one.layouts)
        return tuple(layout for layout in all_layouts if lines_of(layout) == lines)

    def format_of(self, text: str, lines: int = 1) -> str:
        """Return the name of the first format that a text has, `""` for none.

        Args:
            text: What a plate says, its lines one after the other.
            lines: Of the plate, 1 or 2.
        """
        return self._match(text, lines)[0]

    def region_of(self, text: str) -> Region | None:
        """Return the region whose code a text bears; None where it bears none that is known."""
        layout = self._match(text, 1)[1] or self._match(text, 2)[1]
        code = "".join(char for char, kind in zip(text, layout, strict=False) if kind == "R")
        return next((region for region in self.region if code in region.codes), None)

    def _match(self, text: str, lines: int) -> tuple[str, str]:
        """Return name and layout, in one line, of the first format of a text, `""` for none."""
        kinds = "".join(kind_of(char) if char in self.alphabet else "?" for char in text)
        for one in self.format:
            for layout in one.layouts:
                if lines_of(layout) == lines and kinds_of(layout) == kinds:
                    return one.name, layout.replace(BREAK, "")
        return "", ""


def kind_of(char: str) -> str:
    """Return what a character of an alphabet is in a layout: `D`, a digit, or `L`."""
    return "D" if char.isdigit() else "L"


def kinds_of(layout: str) -> str:
    """Return a layout in `L` and `D` alone, its lines one after the other."""
    return layout.replace(BREAK, "").replace("R", "D")


def lines_of(layout: str) -> int:
    """Return how many lines a plate of a layout has."""
    return layout.count(BREAK) + 1


def read_formats(file: Path = RUSSIA) -> Formats:
    """Read a country's file.

    Raises:
        SettingsError: It cannot be read, or says what no plate can be.
    """
    return read_table(Formats, file)


@lru_cache(maxsize=1)
def russian() -> Formats:
    """Return what the project's own weights read: Russian plates."""
    return read_formats(RUSSIA)


def _check_alphabet(alphabet: str) -> None:
    _check_single("alphabet: wanted each character", alphabet)
    if any(char.isspace() or char == BREAK for char in alphabet):
        raise SettingsError(f"alphabet: wanted no spaces and no {BREAK}, got {alphabet!r}")
    if len(alphabet) > MOST_CHARACTERS:
        raise SettingsError(
            f"alphabet: wanted up to {MOST_CHARACTERS} characters, got {len(alphabet)}"
        )


def _check_single(wanted: str, values: Iterable[str]) -> None:
    double = [value for value, count in Counter(values).items() if count > 1]
    if double:
        raise SettingsError(f"{wanted} once, got {double[0]!r} more than once")
