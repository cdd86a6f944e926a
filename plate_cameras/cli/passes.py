"""The command `plates passes`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.commands import SuggestingGroup
from orchestrator.cli.flags import show_errors
from orchestrator.errors import ParameterError, SettingsError
from orchestrator.host.toml_files import check_range, show
from plate_cameras.cli.camera_stores import has_store, open_camera_store, requester_of
from plate_cameras.cli.list_files import (
    check_list_file,
    creating_list,
    read_list_file,
    show_preview,
    template_of,
)

if TYPE_CHECKING:
    from plate_cameras.store.finding.pass_query import FoundPass

# Heavy modules are imported when the command runs, so that --help is quick.

DAY_S = 86400
MAX_DAYS = 36500

passes = typer.Typer(
    cls=SuggestingGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Search, export and delete the passes that plates watch has kept.",
)

StoreArgument = Annotated[
    Path, typer.Argument(metavar="STORE", help="The file CAMERAS.toml, or the folder of --out.")
]
WhyOption = Annotated[
    str, typer.Option(help="The reason; the audit records it with your name.", prompt=True)
]
SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Local time, 2026-11-25 or 2026-11-25T08:00.")
]


@passes.command()
def search(
    path: StoreArgument,
    text: Annotated[
        str,
        typer.Argument(
            help="A text, or fewer than 8 of its characters; * stands for any, ? for one. Double "
            "quotes around a short text: the whole."
        ),
    ],
    *,
    why: WhyOption,
    edits: Annotated[
        int, typer.Option(min=0, max=2, help="Largest number of characters that may differ.")
    ] = 0,
    camera: Annotated[list[str] | None, typer.Option(help="Only this camera; repeatable.")] = None,
    since: SinceOption = None,
    until: SinceOption = None,
    most: Annotated[int, typer.Option(min=1, max=1000, help="Most passes.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a pass.")] = False,
) -> None:
    """Find passes by their plate, the newest first."""
    with show_errors(verbose=False), open_camera_store(path, must_exist=True) as store:
        from plate_cameras.store.finding.pass_query import PassQuery

        query = PassQuery(
            text,
            edits=edits,
            cameras=tuple(camera or ()),
            from_s=_to_unix(since),
            until_s=_to_unix(until, is_end=True),
            limit=most,
        )
        page = store.search(query, requester_of(why))
        for line in _to_lines(page.passes, as_json=as_json):
            typer.echo(line)
        if not page.passes:
            is_empty = not store.reader.has_passes()
            typer.echo("the store has no passes yet" if is_empty else "no pass matches", err=True)
        if page.cursor:
            typer.echo(f"there are more than {most}; --most shows more", err=True)


@passes.command("export-plate")
def export_plate(
    path: StoreArgument,
    text: Annotated[str, typer.Argument(help="The plate.")],
    folder: Annotated[Path, typer.Argument(metavar="TARGET", help="A new folder or .zip file.")],
    *,
    why: WhyOption,
) -> None:
    """Write everything about one plate, with its pictures, for its owner."""
    with show_errors(verbose=False), open_camera_store(path, must_exist=True) as store:
        count = store.export_plate(text, folder, requester_of(why))
        typer.echo(f"passes written to {folder}: {count}", err=True)


@passes.command("delete-plate")
def delete_plate(
    path: StoreArgument,
    text: Annotated[str, typer.Argument(help="The plate.")],
    *,
    why: WhyOption,
    lists: Annotated[bool, typer.Option("--lists", help="Take it out of all lists, too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete everything about one plate: passes, readings, pictures and deliveries."""
    with show_errors(verbose=False), open_camera_store(path, must_exist=True) as store:
        if not yes:
            typer.confirm(f"Delete all passes of {text}?", abort=True)
        requester = requester_of(why)
        counts = store.delete_plate(text, requester, entries=lists)
        typer.echo(f"passes deleted: {counts.passes}; pictures: {counts.pictures}", err=True)


@passes.command("import-list")
def import_list(
    path: StoreArgument,
    name: Annotated[str, typer.Argument(help="Name of the list, as cameras name it.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV, also of Excel, or a workbook (.xlsx).")
    ],
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove entries that the file does not have.")
    ] = False,
    accept_doubtful: Annotated[
        bool, typer.Option("--accept-doubtful", help="Take texts that are on no plate, too.")
    ] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show what would be done, and change nothing.")
    ] = False,
) -> None:
    """Put plates into a list, which is made if there is none of this name."""
    with show_errors(verbose=False):
        content = read_list_file(file)
        if preview:
            show_preview(path, name, content, replacing=replace)
            return
        check_list_file(content, accepts_doubtful=accept_doubtful)
        with open_camera_store(path) as store, creating_list(store.lists, name):
            count = store.lists.import_csv(
                name,
                content,
                replacing=replace,
                accepts_doubtful=accept_doubtful,
                requester=requester_of("-"),
            )
        typer.echo(f"plates put into {name}: {count}", err=True)


@passes.command("list-template")
def list_template(
    language: Annotated[str, typer.Option(help="Language of the columns: en or ru.")] = "en",
) -> None:
    """Print an empty file for import-list, as a CSV file for Excel."""
    with show_errors(verbose=False):
        sys.stdout.write(template_of(language))


@passes.command()
def replay(
    path: StoreArgument,
    sink: Annotated[str, typer.Argument(help="Name of the sink.")],
    *,
    days: Annotated[float, typer.Option(min=0, help="Events of the last so many days.")] = 1.0,
) -> None:
    """Send events to a sink again, also those that were given up."""
    with show_errors(verbose=False):
        check_range("--days", days, 0, MAX_DAYS, ParameterError)  # `min` lets nan pass
        with open_camera_store(path, must_exist=True) as store:
            now_s = store.clock.now_s()
            count = store.outbox.replay(sink, now_s - days * DAY_S, now_s)
        typer.echo(f"events that are due again: {count}", err=True)


@passes.command("test-sink")
def test_sink(
    file: Annotated[Path, typer.Argument(metavar="CAMERAS", help="The file CAMERAS.toml.")],
    sink: Annotated[str, typer.Argument(help="Name of the sink.")],
) -> None:
    """Send a test event to a sink from this machine, and tell whether it was accepted."""
    with show_errors(verbose=False):
        _send_test(file, sink)
        typer.echo(f"sink {sink}: the test was accepted", err=True)


def _send_test(file: Path, name: str) -> None:
    """Send a test event to a sink. The audit records it first, if there is a database.

    Raises:
        PlateError: There is no such sink, or its receiver has not accepted the event.
    """
    from plate_cameras.configuration import read_configuration
    from plate_cameras.sinks.trial import try_sink

    configuration = read_configuration(file)
    sinks = {sink.name: sink for sink in configuration.sinks}
    if name not in sinks:
        names = ", ".join(sinks) or "it has none"
        raise SettingsError(f"wanted a sink of {file} ({names}), got {show(name)}")
    if has_store(file):
        with open_camera_store(file) as store:
            store.record_test(name, requester_of("-"))
    asyncio.run(try_sink(sinks[name]))


def _to_unix(text: str | None, *, is_end: bool = False) -> float | None:
    """Return a local time as Unix time. A date alone is the start of its day, or its end."""
    from plate_cameras.store.lists.list_file import ISO_DAY, day_bound

    if text is None:
        return None
    try:
        if ISO_DAY.fullmatch(text):
            return day_bound(date.fromisoformat(text), is_end=is_end)
        return datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        example = "a time like 2026-11-25T08:00"
        raise ParameterError(f"--since, --until: wanted {example}, got {text!r}") from error


def _to_lines(found_passes: tuple[FoundPass, ...], *, as_json: bool) -> Iterator[str]:
    from plate_cameras.service.pass_table import HEAD, LINE, UNREAD, format_time

    if found_passes and not as_json:
        yield HEAD
    for found_pass in found_passes:
        if as_json:
            yield json.dumps(vars(found_pass), ensure_ascii=False)
        else:
            time = format_time(found_pass.first_seen_s, found_pass.clock)
            score, moves = f"{found_pass.text_score:.2f}", found_pass.direction or "-"
            yield LINE(
                time, found_pass.text or UNREAD, score, moves, found_pass.frames, found_pass.camera
            )
