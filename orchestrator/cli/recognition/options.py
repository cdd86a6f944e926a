"""The options of `plates recognize`: where pictures come from, and what becomes of the results."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import PLATES

SOURCES = partial(typer.Option, rich_help_panel="Where from")
RESULTS = partial(typer.Option, rich_help_panel="Results")
PICTURES = partial(typer.Option, rich_help_panel="Pictures to look at")


class Language(str, Enum):
    """A language of result files."""

    EN = "en"
    RU = "ru"


@dataclass(frozen=True)
class SourceOptions:
    """How pictures are found."""

    from_file: Annotated[
        str | None,
        SOURCES(
            metavar="FILE", help="A list of sources, one a line; - for a list from standard input."
        ),
    ] = None
    recursive: Annotated[bool, SOURCES(help="Look into folders of folders, too.")] = True
    private_addresses: Annotated[
        bool,
        SOURCES(
            "--private-addresses",
            help="Fetch URLs of a list, and follow redirects, to addresses of this machine and of "
            "private networks, too.",
        ),
    ] = False


@dataclass(frozen=True)
class ResultOptions:
    """Options of the results: those that are shown, and those that are written."""

    as_json: Annotated[
        bool,
        RESULTS(
            "--json",
            help="Print a JSON object for each picture, one a line, instead of a table.",
        ),
    ] = False
    show_all: Annotated[
        bool,
        RESULTS(
            "--all", help="Show plates that cannot be read, too, in the table and in drawings."
        ),
    ] = False
    jsonl: Annotated[
        Path | None,
        RESULTS(metavar="FILE", help="Write these objects to a file; - for standard output."),
    ] = None
    csv: Annotated[
        Path | None,
        RESULTS(
            metavar="FILE",
            help="Write a row for each plate; - for standard output in place of the table.",
        ),
    ] = None
    excel: Annotated[
        Path | None,
        RESULTS(
            metavar="FILE",
            help="Write these rows to a CSV file for Excel: semicolons, decimal commas and a byte "
            "order mark.",
        ),
    ] = None
    language: Annotated[
        Language | None,
        RESULTS(
            help="Language of titles, regions and kinds of plates in --csv and --excel; by itself "
            "English for --csv, and that of the locale for --excel."
        ),
    ] = None
    parquet: Annotated[
        Path | None,
        RESULTS(
            metavar="FILE", help="Write these rows to a Parquet file; needs the package pyarrow."
        ),
    ] = None
    resume: Annotated[
        bool,
        RESULTS(
            "--resume",
            help="Go on with --jsonl, --csv and --excel files: pictures that have an answer there "
            "are not done again.",
        ),
    ] = False
    cyrillic: Annotated[bool, RESULTS("--cyrillic", help="Write plates in Cyrillic letters.")] = (
        False
    )
    annotate: Annotated[
        Path | None,
        PICTURES(
            metavar="FOLDER",
            help="Write each picture with its plates drawn in; no file is overwritten.",
        ),
    ] = None
    crops: Annotated[
        Path | None,
        PICTURES(
            metavar="FOLDER",
            help="Write each plate, cut out and straightened; no file is overwritten.",
        ),
    ] = None
    png: Annotated[
        bool, PICTURES("--png", help="PNG files, ten times the size, instead of JPEG.")
    ] = False
    min_score: Annotated[
        float, PLATES(min=0, max=1, help="Leave out plates whose text is less sure than this.")
    ] = 0.0
    watchlist: Annotated[
        Path | None, PLATES(metavar="FILE", help="Plates to flag, one a line, with a note.")
    ] = None
    distance: Annotated[
        int,
        PLATES(
            min=0,
            max=2,
            help="Also flag plates that differ from a listed plate by up to this many characters.",
        ),
    ] = 0

    @property
    def tables(self) -> tuple[Path | None, ...]:
        """The files of results; None for those that are not written."""
        return self.jsonl, self.csv, self.excel, self.parquet
