"""The region in which a plate is registered, from the region code in its text."""

from __future__ import annotations

from functools import lru_cache

from orchestrator.formats.plate_formats import COUNTRIES, Formats, read_formats
from orchestrator.plates import PlateRegion


def region_with(formats: Formats, code: str) -> PlateRegion | None:
    """Return the region that has a code; None for an unknown code, or none."""
    region = formats.regions.get(code)
    return PlateRegion(code, region.name) if region else None


@lru_cache(maxsize=4096)
def known_region(text: str, format_name: str) -> PlateRegion | None:
    """Return the region of a text from the name of its format alone, which tells the country.

    A client does not have the formats of its server. The result is None when no country of the
    project has the format, too.
    """
    formats = _by_format().get(format_name)
    return region_with(formats, formats.code_of(text, format_name)) if formats else None


@lru_cache(maxsize=1)
def _by_format() -> dict[str, Formats]:
    """Return the formats of each country that the project knows, by the names of its formats.

    A country's own file goes before one of several countries.
    """
    countries = [read_formats(file) for file in sorted(COUNTRIES.glob("*/formats.toml"))]
    countries.sort(key=lambda formats: -len(formats.country))
    return {plate_format.name: formats for formats in countries for plate_format in formats.format}
