"""The compared servers: Triton, the gateway in front of it, and FastAPI."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.contract import OUTPUTS
from orchestrator.errors import ServerError
from orchestrator.host.distribution import read_version
from orchestrator.plates import Plates
from orchestrator.serving.gateway.launcher import start as start_gateway
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.bench.plan import FASTAPI, REST, TRITON
from workshop.benchmarks.bench.server import MeasuredServer, start_server
from workshop.benchmarks.bench.session import Target
from workshop.benchmarks.load.closed_loop import Outcome, Send, send_by
from workshop.benchmarks.load.connections import ANSWERED, Connection, Reply
from workshop.benchmarks.load.requests import HttpRequest, file, kserve_http, rest
from workshop.benchmarks.load.responses import count_rows
from workshop.benchmarks.peers.answers import read_kserve, read_peer, read_rest
from workshop.benchmarks.peers.peer_processes import PeerServer, build_request, run_peer
from workshop.benchmarks.peers.settings import PeerSettings
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.processes import find_tree
from workshop.benchmarks.service import HOST

LIMITS = ("client_calls=1000", "client_rate=100000")
"""High limits per client: the gateway sees all callers under one address."""
Count = Callable[[HttpRequest, Reply], int]
"""Counts the plates of a reply, with little work for the client."""


@dataclass(frozen=True)
class ComparedServer:
    """A server, the request for a picture, and the way to read its answers.

    Attributes:
        address: host:port of its HTTP.
        roots: The processes that belong to it, each with its descendants.
        describe_end: Says why the server no longer runs; empty while it runs.
    """

    name: str
    version: str
    address: str
    roots: tuple[int, ...]
    build: Callable[[bytes], HttpRequest]
    read: Callable[[Reply], Plates]
    count: Count
    describe_end: Callable[[], str]

    def find_pids(self) -> frozenset[int]:
        """Return the living processes of the server."""
        return frozenset().union(*map(find_tree, self.roots))

    @property
    def target(self) -> Target:
        """The server as a target of the load."""
        return Target(self._connect, self.find_pids, self.describe_end)

    def _connect(self, picture: Picture) -> AbstractContextManager[Send]:
        request = self.build(picture.encoded)

        def send(connection: Connection, _number: int) -> Outcome:
            reply = connection.send(request)
            if reply.status != ANSWERED:
                return Outcome(reply.status, error=f"{reply.status}: {reply.error}")
            return Outcome(plates=self.count(request, reply))

        return send_by(partial(Connection, self.address), send)()

    def answer(self, encoded: bytes) -> Plates:
        """Return the answer for a JPEG file.

        Raises:
            ServerError: The server does not answer.
        """
        connection = Connection(self.address)
        try:
            reply = connection.send(self.build(encoded))
        finally:
            connection.close()
        if reply.status != ANSWERED:
            raise ServerError(f"{self.name}: wanted plates, got {reply.status}: {reply.error}")
        return self.read(reply)


@dataclass(frozen=True)
class ComparedServers:
    """All servers of a run.

    Attributes:
        triton: The Triton among them.
        settings: The settings of the peer.
    """

    triton: MeasuredServer
    settings: PeerSettings
    several: tuple[ComparedServer, ...]


@contextmanager
def open_servers(options: ServerOptions, workers: int) -> Iterator[ComparedServers]:
    """Run all servers for the length of a `with` block.

    Args:
        options: The options of Triton.
        workers: The number of the peer's processes.
    """
    with ExitStack() as stack:
        triton = stack.enter_context(start_server(options))
        settings = PeerSettings(
            str(options.weights), triton.facts.engine, triton.facts.parameters, workers
        )
        gateway = stack.enter_context(_run_gateway(triton))
        peer = _describe_peer(stack.enter_context(run_peer(settings)))
        yield ComparedServers(triton, settings, (_describe_triton(triton), gateway, peer))


def _describe_triton(triton: MeasuredServer) -> ComparedServer:
    assert triton.own is not None
    return ComparedServer(
        name=TRITON,
        version=triton.facts.version,
        address=triton.address.http,
        roots=(triton.own.process.pid,),
        build=lambda encoded: kserve_http([file(encoded)], outputs=tuple(OUTPUTS)),
        read=read_kserve,
        count=count_rows,
        describe_end=triton.describe_end,
    )


@contextmanager
def _run_gateway(triton: MeasuredServer) -> Iterator[ComparedServer]:
    """Run a gateway in front of the server; both together are the compared server."""
    assert triton.own is not None
    flags = GatewayFlags(
        http_port=0, grpc_port=0, metrics_port=0, audit=Path(os.devnull), limits=LIMITS
    )
    gateway = start_gateway(flags.to_options(triton.own.options))
    try:
        yield ComparedServer(
            name=REST,
            version=read_version(),
            address=f"{HOST}:{gateway.options.http.port}",
            roots=(triton.own.process.pid, *(worker.process.pid for worker in gateway.workers)),
            build=lambda encoded: rest(encoded, Content_Type="image/jpeg"),
            read=read_rest,
            count=_count_rest,
            describe_end=lambda: "" if gateway.monitor() else "the gateway ended",
        )
    finally:
        gateway.stop()


def _describe_peer(server: PeerServer) -> ComparedServer:
    return ComparedServer(
        name=FASTAPI,
        version=metadata.version("fastapi"),
        address=server.address,
        roots=(server.process.pid,),
        build=build_request,
        read=read_peer,
        count=_count_peer,
        describe_end=server.describe_end,
    )


def _count_rest(_request: HttpRequest, reply: Reply) -> int:
    return len(json.loads(reply.content)["pictures"][0]["plates"])


def _count_peer(_request: HttpRequest, reply: Reply) -> int:
    return len(json.loads(reply.content)["plates"])
