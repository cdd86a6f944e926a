"""The server that is measured: one of our own, or a running one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchmarks.plan import Address, Task
from orchestrator.contract import MODEL
from orchestrator.errors import ServerError
from orchestrator.loopback import open_url
from orchestrator.server.local import on_free_ports, prepare
from orchestrator.server.options import ServerOptions
from orchestrator.server.process import Server, running


@dataclass(frozen=True)
class Target:
    """A server under load.

    Attributes:
        address: Where it listens.
        version: Triton's.
        parameters: Of the model `plate_recognition`: its settings, as config.pbtxt has them.
        options: What was chosen for this machine; empty when it is not ours.
        server: Our own; None when it is not ours.
    """

    address: Address
    version: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    server: Server | None = None

    def ended(self) -> str:
        """Say why it no longer runs; empty while it does or when it is not ours."""
        if self.server is None or self.server.is_whole():
            return ""
        if self.server.is_running():
            return "one of the server's workers died"
        return f"tritonserver ended: {self.server.reason()}"


@contextmanager
def target(task: Task) -> Iterator[Target]:
    """Give the server for the length of a `with` block.

    Raises:
        ServerError: It cannot be started or reached.
        WeightsError: Weights cannot be used.
    """
    if task.address:
        yield _described(Target(task.address))
        return
    options = prepare(
        ServerOptions.given(
            repository=task.repository,
            weights=task.weights,
            device=task.device,
            threads=task.threads,
            engine=task.engine,
        )
    )
    options = replace(on_free_ports(options), pictures=task.pictures)
    capacity = options.capacity()
    chosen = {"device": options.device, "engine": options.choose_engine().value}
    chosen |= asdict(capacity) if capacity else {}
    with running(options) as server:
        yield _described(
            Target(
                address=Address(options.http_url, options.grpc_url, options.metrics_url),
                options=chosen,
                server=server,
            )
        )


def _described(bare: Target) -> Target:
    """Add what the server says about itself."""
    config = _get(bare.address, f"v2/models/{MODEL}/config")
    version = str(_get(bare.address, "v2").get("version", ""))
    return replace(bare, version=version, parameters=config.get("parameters", {}))


def _get(address: Address, path: str) -> dict[str, Any]:
    url = f"http://{address.http}/{path}"
    try:
        with open_url(url, timeout_s=10) as answer:
            return dict(json.loads(answer.read()))
    except (OSError, ValueError) as error:
        raise ServerError(f"{url}: wanted an answer, got {error}") from error
