"""The parts of a job from the command line: sources, a server and results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.cli.recognition.file_words import FileWords, language_of
from orchestrator.cli.recognition.options import Language, ResultOptions, SourceOptions
from orchestrator.cli.recognition.output_pictures import OutputPictures
from orchestrator.cli.recognition.parquet import Parquet, load_packages
from orchestrator.cli.recognition.picture_handler import Recognizer
from orchestrator.cli.recognition.picture_source import Source
from orchestrator.cli.recognition.plate_table import PlateTable, to_printable
from orchestrator.cli.recognition.progress import ProgressOutput
from orchestrator.cli.recognition.recognition_run import RecognitionRun
from orchestrator.cli.recognition.result_entry import Entry
from orchestrator.cli.recognition.result_files import (
    STANDARD_OUTPUT,
    Csv,
    JsonLines,
    Layout,
    ResultFile,
    Results,
    check_new,
    find_done,
)
from orchestrator.cli.recognition.sources import (
    STANDARD_INPUT,
    PictureFinder,
    names_one_picture,
    read_list,
)
from orchestrator.cli.recognition.totals import Totals
from orchestrator.cli.recognition.watchlist import Watchlist, read_watchlist
from orchestrator.errors import PlateError, SettingsError
from orchestrator.formats.plate_formats import read_formats, russian
from orchestrator.host.csv_cells import EXCEL
from orchestrator.settings import check_parameters

if TYPE_CHECKING:
    from orchestrator.client import PlateClient

ALL_WELL, SOME_FAILED, NOTHING_DONE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes; the last is the one that shells use."""
NO_SERVER = "localhost:1"
"""Placeholder for a server when there is no picture to send."""

Reach = Callable[[], AbstractContextManager[str]]
Connect = Callable[[str], "PlateClient"]


@dataclass(frozen=True)
class Input:
    """The sources of pictures: files, folders, archives, URLs, patterns, or `-`."""

    names: Sequence[str]
    options: SourceOptions = field(default_factory=SourceOptions)

    def check(self) -> None:
        """Reject an input that names nothing, or standard input twice.

        Raises:
            SettingsError: It does.
        """
        if not self.names and self.options.from_file is None:
            raise SettingsError(
                "wanted pictures, folders, archives or URLs, got none: plates recognize --help"
            )
        if [*self.names, self.options.from_file].count(STANDARD_INPUT) > 1:
            raise SettingsError("standard input: wanted it named once, got it twice")

    def make_finder(self, report: Callable[[str], object] = lambda message: None) -> PictureFinder:
        """Return a finder of the pictures.

        Args:
            report: Called for each folder and archive without pictures.
        """
        return PictureFinder(
            is_recursive=self.options.recursive,
            private_addresses=self.options.private_addresses,
            report=report,
        )

    def find(self, finder: PictureFinder) -> Iterator[Source]:
        """Yield the pictures; a list is read step by step."""
        listed_names = () if self.options.from_file is None else read_list(self.options.from_file)
        return chain(finder.find(self.names), finder.find(listed_names, is_list=True))

    @property
    def is_countable(self) -> bool:
        return not self.options.from_file or Path(self.options.from_file).is_file()  # no pipe

    @property
    def is_one_picture(self) -> bool:
        """True if a single picture is named; a server with one worker starts sooner for it."""
        return (
            self.options.from_file is None
            and len(self.names) == 1
            and names_one_picture(self.names[0])
        )


@dataclass(frozen=True)
class Output:
    """The files and streams for results.

    Attributes:
        is_quiet: No progress and no summary; no table beside drawings.
    """

    options: ResultOptions = field(default_factory=ResultOptions)
    is_quiet: bool = False

    def choose_printer(self) -> Callable[[Entry], Iterable[str]]:
        """Return a function that gives the lines of a result for standard output.

        There is a table only where no file of results is asked for.
        """
        is_drawn = self.options.annotate or self.options.crops
        if self.options.as_json:
            return lambda entry: (entry.to_line(),)
        if any(self.options.tables) or (self.is_quiet and is_drawn):
            return lambda entry: ()
        return PlateTable(is_all=self.options.show_all).to_lines

    @property
    def maker(self) -> OutputPictures:
        """Makes the drawings and crops."""
        options = self.options
        suffix = ".png" if options.png else ".jpg"
        return OutputPictures(options.annotate, options.crops, suffix, options.show_all)

    @property
    def texts(self) -> list[tuple[Path, Layout]]:
        """The files that a run can continue."""
        language = self.options.language
        files: list[tuple[Path | None, Layout]] = [
            (self.options.jsonl, JsonLines()),
            (self.options.csv, Csv(words=FileWords.of(language or Language.EN))),
            (self.options.excel, Csv(EXCEL, FileWords.of(language or language_of(os.environ)))),
        ]
        return [(path, layout) for path, layout in files if path]

    def find_done(self) -> set[str]:
        """Return the names of finished pictures; check that no file is overwritten.

        Raises:
            SettingsError: A file exists already, or cannot be continued.
            ExtraError: A package is missing.
        """
        self._check_options()
        if self.options.parquet:
            load_packages()  # a missing package is reported before a server is started
        if not self.options.resume:
            for path in filter(None, self.options.tables):
                check_new(path)
            return set()
        if self.options.parquet:
            raise SettingsError("--resume: a Parquet file cannot be gone on with; use --jsonl")
        if not self.texts:
            raise SettingsError("--resume: wanted --jsonl, --csv or --excel FILE to go on with")
        return find_done(self.texts)

    def _check_options(self) -> None:
        """Check that each file, and standard output, gets one kind of results, and can hold it.

        Raises:
            SettingsError: It does not.
        """
        options = self.options
        if not 0 <= options.min_score <= 1:  # NaN
            raise SettingsError(f"min_score: wanted 0 to 1, got {options.min_score}")
        targets = [*options.tables, *([STANDARD_OUTPUT] if options.as_json else [])]
        files = [path.resolve() for path in targets if path]  # standard output is one of them
        if len({*files}) < len(files):
            raise SettingsError("results: wanted another file for each kind, got one for two")
        if options.resume and STANDARD_OUTPUT in targets and not options.as_json:
            raise SettingsError("--resume: wanted a file to go on with, got standard output")
        if options.parquet == STANDARD_OUTPUT:
            raise SettingsError("--parquet: wanted a file, got -, which is standard output")

    def open(self, stack: ExitStack) -> list[Results]:
        """Open the files; the stack closes them."""
        writers: list[Results] = [ResultFile(path, layout) for path, layout in self.texts]
        if self.options.parquet:
            writers.append(Parquet(self.options.parquet))
        return [stack.enter_context(closing(writer)) for writer in writers]

    def how_to_go_on(self) -> str:
        """Return instructions for continuing a run that ended early."""
        if any(path != STANDARD_OUTPUT for path, _ in self.texts):
            return "To go on, give the same command again with --resume."
        return "With --jsonl, --csv or --excel FILE, --resume could go on from here."


@dataclass(frozen=True)
class ServerAccess:
    """The server, and the parameters of the calls to it.

    Attributes:
        reach: Gives the address of a server, for the length of a `with` block.
        connect: Makes a client for it.
        fit: Returns how many calls keep it busy.
        parameters: Parameters of each call.
        formats: File of the plate formats for the watchlist; None means Russian plates.
    """

    reach: Reach
    connect: Connect
    fit: Callable[[str], int]
    parameters: Mapping[str, Any]
    formats: Path | None = None


def recognize_all(inputs: Input, access: ServerAccess, output: Output) -> int:
    """Recognise all named pictures, and return the exit code.

    Raises:
        PlateError: The work could not start; the message gives the reason.
    """
    inputs.check()
    check_parameters(access.parameters)
    screen = ProgressOutput(is_quiet=output.is_quiet)
    options = output.options
    watchlist = _read_watchlist(options, access.formats, screen)
    finished_names = output.find_done()
    finder = inputs.make_finder(screen.report)
    sources, is_any_there = _look_ahead(
        source for source in inputs.find(finder) if source.name not in finished_names
    )
    server = access.reach() if is_any_there else nullcontext(NO_SERVER)
    with server as address, access.connect(address) as client, ExitStack() as stack:
        recognizer = Recognizer(
            client, access.parameters, output.maker, watchlist, options.min_score, options.cyrillic
        )
        in_flight = access.fit(address) if is_any_there else 1
        run = RecognitionRun(
            screen,
            output.choose_printer(),
            output.open(stack),
            Totals(earlier_pictures=len(finished_names)),
        )
        begin = partial(run.run, sources, recognizer, in_flight)
        status, reason = _run(run, begin, partial(_count, inputs, finished_names))
        for line in (
            *finder.skipped_files.report(),
            *run.totals.report(has_watchlist=bool(watchlist)),
        ):
            screen.inform(to_printable(line))
        if reason:
            screen.report(f"{reason} {output.how_to_go_on()}")
    return status if is_any_there or finished_names or reason else NOTHING_DONE


def _read_watchlist(
    options: ResultOptions, file: Path | None, screen: ProgressOutput
) -> Watchlist | None:
    """Return the watchlist of the options, if they name one; its plates have a file's formats."""
    if not options.watchlist:
        return None
    formats = read_formats(file) if file else russian()
    return read_watchlist(options.watchlist, options.distance, formats, screen.report)


def _run(
    run: RecognitionRun, begin: Callable[[], None], count: Callable[[], int | None]
) -> tuple[int, str]:
    """Run to the end, or until an error or interruption; return the exit code and the reason."""
    try:
        with run.screen.progress(count):
            begin()
    except KeyboardInterrupt:
        return INTERRUPTED, "Stopped."
    except PlateError as error:
        return SOME_FAILED, f"Stopped: {error}."
    return SOME_FAILED if run.totals.failures else ALL_WELL, ""


def _look_ahead(sources: Iterator[Source]) -> tuple[Iterable[Source], bool]:
    """Return the same sources, and whether there are any: without pictures no server is needed."""
    first_sources: list[Source] = []
    for source in sources:
        first_sources.append(source)
        if source.is_there:
            return chain(first_sources, sources), True
    return first_sources, False


def _count(inputs: Input, finished_names: set[str]) -> int | None:
    """Return the number of pictures to do; None if it is known only at the end."""
    if not inputs.is_countable:
        return None
    return sum(source.name not in finished_names for source in inputs.find(inputs.make_finder()))
