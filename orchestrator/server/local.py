"""A server of one's own: the models exported, on free ports, for as long as it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.networks.engines import Engine
from orchestrator.networks.weights import WEIGHTS
from orchestrator.server.options import ServerOptions, checked
from orchestrator.server.ports import free_ports
from orchestrator.server.process import running
from orchestrator.server.repository import REPOSITORY, export


def asked(
    repository: Path | None = None,
    device: str = "auto",
    threads: int = 0,
    engine: Engine = Engine.AUTO,
    *,
    explicit: bool = False,
) -> ServerOptions:
    """Return the options of a server on the default ports.

    Raises:
        SettingsError: No repository was named that could be served as it lies.
    """
    if explicit and not repository:
        raise SettingsError(
            "model repository: wanted one that plates export --out wrote, to serve it as it lies, "
            "got none; name it with --model-repository"
        )
    return ServerOptions(
        repository=repository or REPOSITORY,
        device=device,
        threads=threads,
        engine=engine,
        explicit=explicit,
    )


def prepare(options: ServerOptions, weights: Path | None = None) -> ServerOptions:
    """Export the models that are missing; return the options.

    A repository that is served as it lies, explicitly, is left alone.

    Raises:
        SettingsError: The folder is no repository of our models, or cannot be written.
        WeightsError: A weight file is missing or not the listed one.
    """
    if not options.explicit:
        export(options.repository, weights or WEIGHTS, options.chosen_engine())
    return options


def prepared(
    repository: Path | None = None,
    weights: Path | None = None,
    device: str = "auto",
    threads: int = 0,
    engine: Engine = Engine.AUTO,
    *,
    explicit: bool = False,
) -> ServerOptions:
    """Return the options that are `asked` for, with the models exported as by `prepare`."""
    return prepare(asked(repository, device, threads, engine, explicit=explicit), weights)


def on_free_ports(options: ServerOptions) -> ServerOptions:
    """Return the options with ports that nobody listens on."""
    http, grpc, metrics = free_ports(3)
    return replace(options, http_port=http, grpc_port=grpc, metrics_port=metrics)


@contextmanager
def server_at(
    url: str | None,
    repository: Path | None = None,
    weights: Path | None = None,
    device: str = "auto",
    threads: int = 0,
    engine: Engine = Engine.AUTO,
) -> Iterator[str]:
    """Give the URL of the server named, or of one of our own for as long as it is needed."""
    if url:
        yield url
        return
    wanted = asked(repository, device, threads, engine)
    checked(on_free_ports(wanted))  # before an export, which takes its time
    options = on_free_ports(prepare(wanted, weights))
    with running(options):
        yield options.http_url
