"""The command `plates watch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.chosen_server import KeyOption, TimeoutOption, UrlOption
from orchestrator.cli.flags import (
    Device,
    DeviceOption,
    EngineOption,
    FormatsOption,
    ThreadsOption,
    VerboseOption,
    WeightsOption,
    show_errors,
)
from orchestrator.networks.engines import Engine

# Heavy modules are imported when the command runs, so that --help is quick.

OF_OWN_SERVER = {"device", "engine", "threads", "weights", "formats"}
"""Parameters that only a server uses that the command starts."""
EXAMPLES = """
Follow cameras, and print one line for each vehicle that passed.

SOURCE: a file CAMERAS.toml, or streams (rtsp://, rtsps://, http://), devices
(/dev/video0) and clips (mp4, mkv, avi).

With a file, passes are kept in a database, and sent to webhooks or MQTT:
docs/cameras.md. The file is read again when it changes.

Ctrl-C or SIGTERM ends the command, within 30 s: it closes and stores the open
passes first, and says what it waits for. A second one ends it at once.

Examples:

  plates watch --once clip.mp4

  plates watch rtsp://user:password@10.0.0.5/stream1

  plates watch CAMERAS.toml --url localhost:8000
"""


def watch(
    context: typer.Context,
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", show_default=False)],
    *,
    once: Annotated[
        bool, typer.Option("--once", help="End when all clips are done; only for clips.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print every event as JSON, one a line.")
    ] = False,
    show_all: Annotated[
        bool, typer.Option("--all", help="Print vehicles whose plate cannot be read, too.")
    ] = False,
    looks: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=60,
            metavar="N",
            help="Frames a second to send: 4 of a stream and 10 of a clip without it.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep passes and their pictures in this folder; a file of cameras says it itself.",
        ),
    ] = None,
    share: Annotated[
        bool,
        typer.Option(
            "--share",
            help="Share the cameras with other watchers that use the same file and database.",
        ),
    ] = False,
    url: UrlOption = None,
    key: KeyOption = None,
    timeout: TimeoutOption = 30.0,
    device: DeviceOption = Device.AUTO,
    engine: EngineOption = Engine.AUTO,
    threads: ThreadsOption = 0,
    weights: WeightsOption = None,
    formats: FormatsOption = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only passes and errors.")
    ] = False,
    verbose: VerboseOption = False,
) -> None:
    with show_errors(verbose=verbose, quiet=quiet):
        from orchestrator.cli import chosen_server
        from orchestrator.cli.standard_streams import say
        from plate_cameras.background_tasks import FatalTaskError
        from plate_cameras.service.pass_table import PassTable
        from plate_cameras.service.run import Run, run_watch
        from plate_cameras.service.targets import check_shared, read_target

        chosen_server.check_unused(context, url, OF_OWN_SERVER)
        target = read_target(sources, is_once=once, looks_per_s=looks)
        if share:
            check_shared(target, is_once=once)
        address = url or target.configuration.service
        server_options = {
            "weights": weights,
            "formats": formats,
            "device": device.value,
            "threads": threads,
            "engine": engine,
        }
        table = PassTable(is_json=as_json, is_all=show_all)
        with chosen_server.reach_server(address, is_quiet=quiet, **server_options) as server:
            run = Run(server, key if address else None, timeout, table, out, once, quiet, share)
            try:
                run_watch(target, run)
            except FatalTaskError as error:
                say(f"plates: {error}", err=True)
                raise typer.Exit(1) from error
        if not quiet:
            say(table.summarize(), err=True)


watch.__doc__ = EXAMPLES
