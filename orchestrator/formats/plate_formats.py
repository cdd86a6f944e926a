"""The number plates of a country: the alphabet, the layouts and the region codes.

They are read once, at the start of a program, and then passed on. So one process can have two
countries.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.formats.layouts import (
    BREAK,
    KINDS,
    MAX_LENGTH,
    check_alphabet,
    check_letters,
    check_signs,
    check_single,
    code_in,
    flatten,
    lines_of,
)
from orchestrator.host.toml_files import check_range, read_table

MAX_LAYOUTS = 63
"""Largest number of layouts of a country: the time of the beam search grows with it."""
MAX_NATS = 20.0
"""Most nats of evidence against a region or a format: a factor of 5e8 is as good as a ban."""
COUNTRIES = Path(__file__).with_name("countries")
"""The folder with one folder for each country that the project knows."""
RUSSIA = COUNTRIES / "russia" / "formats.toml"


@dataclass(frozen=True)
class PlateFormat:
    """One kind of plate.

    Attributes:
        name: For example `ru_car`.
        layouts: One or more strings of `L` (letter), `A` (any letter of the alphabet), `D` (digit),
            `R` (a region's digit) and lower-case letters. A lower-case letter stands for only its
            capital (`DDDcdDRR`: 004CD177). A `/` separates the lines of a plate of two lines.
        share: How often it is rendered, relative to the shares of the other formats; 0: never.
        rare_nats: The penalty of a reading with this format, for kinds that are seldom seen. It is
            the natural logarithm of the factor by which such a reading is less likely.

    Raises:
        SettingsError: No plate can have such a layout.
    """

    name: str
    layouts: tuple[str, ...]
    share: float = 1.0
    rare_nats: float = 0.0

    def __post_init__(self) -> None:
        if not self.name or not self.layouts:
            raise SettingsError(f"format {self.name!r}: wanted a name and layouts, got none")
        for layout in self.layouts:
            lines = layout.split(BREAK)
            is_known = all(place in KINDS or place.islower() for place in "".join(lines))
            if len(lines) > 2 or not all(lines) or not is_known:
                raise SettingsError(
                    f"layout of {self.name}: wanted L, A, D, R and lower-case letters, and at most "
                    f"one {BREAK} between them, got {layout!r}"
                )
            if len("".join(lines)) > MAX_LENGTH:
                raise SettingsError(
                    f"layout of {self.name}: wanted up to {MAX_LENGTH} characters, got {layout}"
                )
        check_range(f"share of {self.name}", self.share, 0, 1_000_000)
        check_range(f"rare_nats of {self.name}", self.rare_nats, 0, MAX_NATS)


@dataclass(frozen=True)
class Region:
    """A part of the country, with the codes that its plates bear."""

    name: str
    codes: tuple[str, ...]


@dataclass(frozen=True)
class CountrySign:
    """The sign of a country, such as flag and code in a corner; texts are shown without it.

    Attributes:
        code: The country, ISO 3166: `kz`. The names of its formats begin with it.
        sign: The character of the alphabet that stands for the sign: `Ⓚ`, in layouts `ⓚ`.
    """

    code: str
    sign: str


@dataclass(frozen=True)
class Formats:
    """The plates of a country, as its TOML file has them, or of several countries.

    Attributes:
        alphabet: Every character a plate may have, in the order of the reader's classes.
        letters: Characters that an `L` of a layout allows; all but the digits when empty.
        format: The kinds of plates. A text that fits two of them has the first.
        region: The regions whose codes the plates bear.
        unknown_region_nats: The penalty of a reading whose region code does not exist. It is the
            natural logarithm of the factor by which such a reading is less likely; 0: no penalty.
        renderer: `module:function` that draws such plates, see `workshop.rendering.country`. The
            module is a file beside the formats' own, or can be imported. Empty means that they
            cannot be drawn.
        extends: A folder of `COUNTRIES`: its formats and regions come before these, its letters
            and its penalty apply. Empty once they are taken over.
        country: The countries whose plates bear a sign, in files of several countries. The names
            of all formats of such a file begin with the country's code and `_`.

    Raises:
        SettingsError: A character, a name or a code comes twice. There is no format, or there are
            too many. The alphabet lacks letters or digits of a layout or a code.
    """

    alphabet: str
    format: tuple[PlateFormat, ...]
    region: tuple[Region, ...] = ()
    renderer: str = ""
    letters: str = ""
    unknown_region_nats: float = 0.0
    extends: str = ""
    country: tuple[CountrySign, ...] = ()

    def __post_init__(self) -> None:
        if self.extends:
            self._take_over(self.extends)
        check_alphabet(self.alphabet)
        check_letters(self.letters, self.alphabet)
        check_signs([entry.code for entry in self.country], [*self.signs], self.alphabet)
        check_single("formats: wanted each name", [kind.name for kind in self.format])
        codes = [code for region in self.region for code in region.codes]
        check_single("regions: wanted each code", codes)
        for code in codes:
            if not code or set(code) - {char for char in self.alphabet if char.isdigit()}:
                raise SettingsError(f"regions: wanted codes of the alphabet's digits, got {code!r}")
        check_range("unknown_region_nats", self.unknown_region_nats, 0, MAX_NATS)
        layouts = [layout for plate_format in self.format for layout in plate_format.layouts]
        if not 1 <= len(layouts) <= MAX_LAYOUTS:
            raise SettingsError(
                f"formats: wanted 1 to {MAX_LAYOUTS} layouts in [[format]], got {len(layouts)}"
            )
        for place in sorted(set("".join(map(flatten, layouts)))):
            if not any(self.admits(place, char) for char in self.alphabet):
                letters = KINDS.get(place, place.upper())
                raise SettingsError(
                    f"alphabet: wanted {letters} for the layouts, got {self.alphabet!r}"
                )

    def _take_over(self, name: str) -> None:
        """Put the formats and regions of a country before these, with its letters and penalty."""
        countries = sorted(file.parent.name for file in COUNTRIES.glob("*/formats.toml"))
        if name not in countries:
            raise SettingsError(f"extends: wanted one of {', '.join(countries)}, got {name!r}")
        base = read_formats(COUNTRIES / name / "formats.toml")
        formats, regions = base.format + self.format, base.region + self.region
        vars(self).update(format=formats, region=regions, letters=base.letters, extends="")
        vars(self).update(unknown_region_nats=base.unknown_region_nats)

    def __hash__(self) -> int:
        """Return a stored hash: computing the hash of all fields took 0.1 ms at each call."""
        return hash(self.alphabet)

    @property
    def blank(self) -> int:
        """The class of CTC's blank: the reader's class after those of the alphabet."""
        return len(self.alphabet)

    @property
    def classes(self) -> int:
        """The number of the reader's classes."""
        return len(self.alphabet) + 1

    def layouts(self, lines: int) -> tuple[str, ...]:
        """Return the layouts of plates with this number of lines, 1 or 2."""
        return self._by_lines.get(lines, ())

    def admits(self, place: str, char: str) -> bool:
        """Tell whether a place of a layout, given by its character, allows a character."""
        if place in ("L", "A"):
            pool = self.letters if place == "L" and self.letters else self.alphabet
            return char in pool and not char.isdigit() and char not in self.signs
        if place in ("D", "R"):
            return char in self.alphabet and char.isdigit()
        return char == place.upper()

    def fits(self, text: str, layout: str) -> bool:
        """Tell whether a text has a layout; both must show where lines break, or neither."""
        return bool((self._patterns.get(layout) or _compile(self, layout)).fullmatch(text))

    def format_of(self, text: str, lines: int = 1) -> str:
        """Return the name of the format that a text has, `""` for none.

        A text may fit several formats. The first whose region code exists, or that has no region
        code, is returned. If no code exists, it is the first of all.

        Args:
            text: The plate's text, its lines one after the other.
            lines: Lines of the plate, 1 or 2.
        """
        return self.match(text, lines)[0]

    def match(self, text: str, lines: int) -> tuple[str, str]:
        """Return name and one-line layout of a text's format, `""` for none; see `format_of`."""
        entries = self._layouts.get((lines, len(text)), [])
        matches = [entry for entry in entries if self._patterns[entry[1]].fullmatch(text)]
        for name, layout in matches:
            if "R" not in layout or code_in(text, layout) in self.regions:
                return name, layout
        return matches[0] if matches else ("", "")

    def region_of(self, text: str, format_name: str = "") -> Region | None:
        """Return the region whose code a text bears; None when the text has no known code."""
        return self.regions.get(self.code_of(text, format_name))

    def code_of(self, text: str, format_name: str = "") -> str:
        """Return the region code that a text bears, `""` for none.

        Args:
            text: The plate's text, its lines one after the other.
            format_name: Format of the text; empty means its format in one line, else in two.
        """
        layouts = self._named.get(format_name, ())
        layout = next((layout for layout in layouts if self.fits(text, layout)), "")
        if not layout and not format_name:
            layout = self.match(text, 1)[1] or self.match(text, 2)[1]
        return code_in(text, layout)

    def shown(self, text: str) -> str:
        """Return a text as it is shown: without the signs of countries."""
        signs = self.signs
        return "".join([char for char in text if char not in signs]) if signs else text

    @cached_property
    def signs(self) -> dict[str, str]:
        """The codes of the countries by their signs."""
        return {entry.sign: entry.code for entry in self.country}

    @cached_property
    def regions(self) -> dict[str, Region]:
        """The regions by their codes."""
        return {code: region for region in self.region for code in region.codes}

    @cached_property
    def _by_lines(self) -> dict[int, tuple[str, ...]]:
        """The layouts by their number of lines."""
        layouts = [layout for plate_format in self.format for layout in plate_format.layouts]
        return {n: tuple([at for at in layouts if lines_of(at) == n]) for n in (1, 2)}

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        """The patterns of the one-line layouts."""
        layouts = {flatten(layout) for kind in self.format for layout in kind.layouts}
        return {layout: _compile(self, layout) for layout in layouts}

    @cached_property
    def _named(self) -> dict[str, tuple[str, ...]]:
        """The one-line layouts by the names of their formats."""
        return {kind.name: tuple(map(flatten, kind.layouts)) for kind in self.format}

    @cached_property
    def _layouts(self) -> dict[tuple[int, int], list[tuple[str, str]]]:
        """Names of formats and their one-line layouts, by lines and length."""
        layouts: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
        for plate_format in self.format:
            for layout in plate_format.layouts:
                flat = flatten(layout)
                layouts[lines_of(layout), len(flat)].append((plate_format.name, flat))
        return layouts


def _compile(formats: Formats, layout: str) -> re.Pattern[str]:
    """Return the pattern of the texts that have a layout."""
    chars = (*formats.alphabet, *layout.upper())
    places = ("|".join(re.escape(c) for c in chars if formats.admits(at, c)) for at in layout)
    return re.compile("".join(f"(?:{place or '(?!)'})" for place in places))


def read_formats(file: Path = RUSSIA) -> Formats:
    """Read a country's file.

    Raises:
        SettingsError: It cannot be read, or describes plates that cannot exist.
    """
    return read_table(Formats, file)


@lru_cache(maxsize=1)
def russian() -> Formats:
    """Return the formats that the project's own weights read: those of Russian plates."""
    return read_formats(RUSSIA)
