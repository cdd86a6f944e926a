"""A server of one's own: the models exported, on free ports, for as long as it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.networks.engines import Engine
from orchestrator.networks.weights import WEIGHTS
from orchestrator.ports import free_ports
from orchestrator.triton.options import ServerOptions
from orchestrator.triton.repository import REPOSITORY, export
from orchestrator.triton.server import running


def prepared(
    repository: Path | None = None,
    weights: Path | None = None,
    device: str = "auto",
    threads: int = 0,
    engine: Engine = Engine.AUTO,
    *,
    explicit: bool = False,
) -> ServerOptions:
    """Export the models that are missing; return the options of a server on the default ports.

    A repository that is served as it lies, explicitly, is left alone.

    Raises:
        SettingsError: The folder is no repository of our models, or none was named that could be
            served as it lies.
        WeightsError: A weight file is missing or not the listed one.
    """
    if explicit and not repository:
        raise SettingsError(
            "model repository: wanted one that plates export --out wrote, to serve it as it lies, "
            "got none; name it with --model-repository"
        )
    options = ServerOptions(
        repository=repository or REPOSITORY,
        device=device,
        threads=threads,
        engine=engine,
        explicit=explicit,
    )
    if not explicit:
        export(options.repository, weights or WEIGHTS, options.chosen_engine())
    return options


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
    options = on_free_ports(prepared(repository, weights, device, threads, engine))
    with running(options):
        yield options.http_url
