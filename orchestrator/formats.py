"""What number plates may say: the alphabet, the layouts and the region codes of a country.

Read once, where a program begins, and passed on from there: two countries can live in one process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.toml_files import check_range, read_table

MAX_LENGTH = 9
"""Characters of a text: what a row of the output `character_scores` has room for."""
MOST_LAYOUTS = 63
MOST_CHARACTERS = 126
"""Of an alphabet. Like the layouts' it is a limit of the beam search, whose sets and texts are
whole numbers of 64 bits."""
MOST_NATS = 20.0
"""Of evidence against a region: a factor of 5e8 is as good as a ban."""
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
        layouts: One or more strings of `L` (letter), `D` (digit), `R` (a region's digit) and
            lower-case letters, which stand for their capitals alone (`DDDcdDRR`: 004CD177), with
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
            known = all(place in KINDS or place.islower() for place in "".join(lines))
            if len(lines) > 2 or not all(lines) or not known:
                raise SettingsError(
                    f"layout of {self.name}: wanted L, D, R and lower-case letters, and at most "
                    f"one {BREAK} between them, got {layout!r}"
                )
            if len("".join(lines)) > MAX_LENGTH:
                raise SettingsError(
                    f"layout of {self.name}: wanted up to {MAX_LENGTH} characters, got {layout}"
                )
        check_range(f"share of {self.name}", self.share, 0, 1_000_000)


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
        letters: Characters that an `L` of a layout admits; all but the digits when empty.
        format: The kinds of plates, the one that settles a text that fits two first.
        region: The regions whose codes the plates bear.
        unknown_region_nats: How much less likely a reading is whose region code does not exist, as
            the natural logarithm of a factor; 0: as likely as any other.
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
    letters: str = ""
    unknown_region_nats: float = 0.0

    def __post_init__(self) -> None:
        _check_alphabet(self.alphabet)
        _check_letters(self.letters, self.alphabet)
        _check_single("formats: wanted each name", (one.name for one in self.format))
        codes = [code for one in self.region for code in one.codes]
        _check_single("regions: wanted each code", codes)
        for code in codes:
            if not code or set(code) - {char for char in self.alphabet if char.isdigit()}:
                raise SettingsError(f"regions: wanted codes of the alphabet's digits, got {code!r}")
        check_range("unknown_region_nats", self.unknown_region_nats, 0, MOST_NATS)
        layouts = [layout for one in self.format for layout in one.layouts]
        if not 1 <= len(layouts) <= MOST_LAYOUTS:
            raise SettingsError(
                f"formats: wanted 1 to {MOST_LAYOUTS} layouts in [[format]], got {len(layouts)}"
            )
        for place in sorted(set("".join(map(flatten, layouts)))):
            if not any(self.admits(place, char) for char in self.alphabet):
                wanted = KINDS.get(place, place.upper())
                raise SettingsError(
                    f"alphabet: wanted {wanted} for the layouts, got {self.alphabet!r}"
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

    def admits(self, place: str, char: str) -> bool:
        """Tell whether a place of a layout, one character of it, admits a character."""
        if place == "L":
            return char in (self.letters or self.alphabet) and not char.isdigit()
        if place in ("D", "R"):
            return char in self.alphabet and char.isdigit()
        return char == place.upper()

    def fits(self, text: str, layout: str) -> bool:
        """Tell whether a text has a layout; where lines break is told in both or in neither."""
        return len(text) == len(layout) and all(map(self.admits, layout, text))

    def format_of(self, text: str, lines: int = 1) -> str:
        """Return the name of the format that a text has, `""` for none.

        Of several it is the first whose region code exists or that has none, and the first of all
        where no code exists.

        Args:
            text: What a plate says, its lines one after the other.
            lines: Of the plate, 1 or 2.
        """
        return self._match(text, lines)[0]

    def region_of(self, text: str, format_name: str = "") -> Region | None:
        """Return the region whose code a text bears; None where it bears none that is known."""
        return self._regions.get(self.code_of(text, format_name))

    def code_of(self, text: str, format_name: str = "") -> str:
        """Return the region code that a text bears, `""` for none.

        Args:
            text: What a plate says, its lines one after the other.
            format_name: Of the text; what it has in one line, else in two, when empty.
        """
        named = (one for one in self.format if one.name == format_name)
        layouts = (flatten(layout) for one in named for layout in one.layouts)
        given = next((layout for layout in layouts if self.fits(text, layout)), "")
        found = "" if format_name else self._match(text, 1)[1] or self._match(text, 2)[1]
        return code_in(text, given or found)

    @cached_property
    def _regions(self) -> dict[str, Region]:
        """The regions by their codes."""
        return {code: region for region in self.region for code in region.codes}

    def _match(self, text: str, lines: int) -> tuple[str, str]:
        """Return name and layout, in one line, of the format of a text, `""` for none."""
        fitting = [
            (one.name, flatten(layout))
            for one in self.format
            for layout in one.layouts
            if lines_of(layout) == lines and self.fits(text, flatten(layout))
        ]
        for name, layout in fitting:
            if "R" not in layout or code_in(text, layout) in self._regions:
                return name, layout
        return fitting[0] if fitting else ("", "")


def flatten(layout: str) -> str:
    """Return a layout with its lines one after the other."""
    return layout.replace(BREAK, "")


def code_in(text: str, layout: str) -> str:
    """Return the region code of a text whose layout, in one line, is given; `""` for none."""
    return "".join(char for char, place in zip(text, layout, strict=False) if place == "R")


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


def _check_letters(letters: str, alphabet: str) -> None:
    _check_single("letters: wanted each character", letters)
    for char in letters:
        if char not in alphabet or char.isdigit():
            raise SettingsError(
                f"letters: wanted characters of the alphabet that are no digits, got {char!r}"
            )


def _check_single(wanted: str, values: Iterable[str]) -> None:
    double = [value for value, count in Counter(values).items() if count > 1]
    if double:
        raise SettingsError(f"{wanted} once, got {double[0]!r} more than once")
