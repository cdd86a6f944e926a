"""Prepares a server's start: exported networks, free ports; also runs a temporary server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from orchestrator.host.locked_folders import LockedFolder
from orchestrator.host.subprocesses import defer_stops
from orchestrator.serving.supervisor.models.export_process import export_apart
from orchestrator.serving.supervisor.models.repository_writer import lay_out
from orchestrator.serving.supervisor.options import ServerOptions, fill_ports
from orchestrator.serving.supervisor.preflight import check
from orchestrator.serving.supervisor.server_folder import writing
from orchestrator.serving.supervisor.triton_start import start


def prepare(options: ServerOptions) -> ServerOptions:
    """Export the networks that are missing; return the options.

    A repository that is served as it lies is not changed: it is not ours, or the caller asked for
    it.

    Raises:
        SettingsError: The folder is no repository of our models, or cannot be written.
        WeightsError: A weight file is missing, not the listed one, or one for another alphabet.
    """
    if options.is_made_here:
        export_apart(options.source())
    return options


@contextmanager
def keep_models(options: ServerOptions) -> Iterator[Path]:
    """Give the repository to serve; it does not change for the length of a `with` block.

    A server that is restarted there serves the same models as before, even if somebody has exported
    or edited some since then. A repository that is served as it lies is returned itself.

    Raises:
        ServerError: There is no room for a folder.
        SettingsError: The repository has none of our models, or cannot be copied.
        WeightsError: The weights cannot be used.
    """
    if not options.is_made_here:
        yield options.repository
        return
    with keep_folder("models-") as folder:
        spare, source = folder / "exported", options.source()
        export_apart(source, spare=spare)
        yield lay_out(source, folder / "repository", options.capacity(), spare=spare)


@contextmanager
def keep_folder(kind: str, parent: Path | None = None) -> Iterator[Path]:
    """Give a new folder in TMPDIR, or in another folder, for the length of a `with` block.

    Raises:
        ServerError: There is no room for a folder.
    """
    with writing():
        locked_folder = LockedFolder.make(kind, parent)
    try:
        yield locked_folder.folder
    finally:
        with defer_stops():
            locked_folder.remove()


def on_free_ports(options: ServerOptions) -> ServerOptions:
    """Return the options with ports that nobody listens on."""
    return fill_ports(replace(options, http_port=0, grpc_port=0, metrics_port=0))


@contextmanager
def own_server(options: ServerOptions) -> Iterator[ServerOptions]:
    """Run a server on free ports for the length of a `with` block; gives its options.

    Raises:
        PlateError: It cannot be started; the message gives the reason.
    """
    options = check(on_free_ports(options))  # before an export, which takes long
    with keep_models(options) as models:
        server = start(on_free_ports(options), lambda *_: models)
        try:
            yield server.options
        finally:
            server.stop()
