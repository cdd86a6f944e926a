"""A server of one's own: the networks exported, on free ports, for as long as it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from orchestrator.server.options import ServerOptions, check, fill_ports
from orchestrator.server.process import run_server
from orchestrator.server.repository import export_networks, holds_plates


def prepare(options: ServerOptions) -> ServerOptions:
    """Export the networks that are missing; return the options.

    A repository that is served as it lies, explicitly or because it is not ours, is left alone.

    Raises:
        SettingsError: The folder is no repository of our models, or cannot be written.
        WeightsError: A weight file is missing, not the listed one, or one for another alphabet.
    """
    if holds_plates(options.repository) and not options.explicit:
        engine = options.choose_engine()
        export_networks(options.repository, options.weights, engine, options.formats)
    return options


def on_free_ports(options: ServerOptions) -> ServerOptions:
    """Return the options with ports that nobody listens on."""
    return fill_ports(replace(options, http_port=0, grpc_port=0, metrics_port=0))


@contextmanager
def own_server(options: ServerOptions) -> Iterator[ServerOptions]:
    """Run a server on free ports for the length of a `with` block; gives what it was started with.

    Raises:
        PlateError: It cannot be started; the message says why.
    """
    check(on_free_ports(options))  # before an export, which takes its time
    options = on_free_ports(prepare(options))
    with run_server(options):
        yield options
