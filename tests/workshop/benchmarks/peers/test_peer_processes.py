"""The FastAPI peer, with two workers, on a free port."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from orchestrator.errors import ServerError
from orchestrator.networks.weights import WEIGHTS
from tests.samples import STREET, TEXTS
from tests.waiting import until
from workshop.benchmarks.bench.bounds import run_worker
from workshop.benchmarks.load.connections import Connection, Reply
from workshop.benchmarks.load.requests import HttpRequest, rest
from workshop.benchmarks.peers import peer_processes
from workshop.benchmarks.peers.answers import check_alike, read_peer
from workshop.benchmarks.peers.peer_processes import PeerServer, build_request, run_peer
from workshop.benchmarks.peers.settings import VARIABLE, PeerSettings
from workshop.benchmarks.processes import find_tree

SETTINGS = PeerSettings(str(WEIGHTS), "torchscript", {}, workers=2)


@pytest.fixture(scope="module")
def running() -> Iterator[ExitStack]:
    """Holds the peer, so that the last of its tests can stop it."""
    with ExitStack() as running:
        yield running


@pytest.fixture(scope="module")
def peer(running: ExitStack) -> PeerServer:
    return running.enter_context(run_peer(SETTINGS))


def call(peer: PeerServer, request: HttpRequest) -> Reply:
    with closing(Connection(peer.address)) as connection:
        return connection.send(request)


def test_settings_are_read_as_they_were_passed() -> None:
    assert PeerSettings.read({VARIABLE: SETTINGS.variables[VARIABLE]}) == SETTINGS
    assert SETTINGS.variables["OMP_NUM_THREADS"] == "1"
    assert VARIABLE not in os.environ


@pytest.mark.server
def test_the_peer_answers_as_the_pipeline_in_process(peer: PeerServer) -> None:
    encoded = STREET.read_bytes()
    with run_worker(SETTINGS.options, SETTINGS.parameters) as worker:
        wanted = worker.read(encoded)
    got = read_peer(call(peer, build_request(encoded)))
    assert [one.text for one in got] == TEXTS
    check_alike("street", wanted, {"FastAPI": got})


@pytest.mark.server
def test_bytes_that_are_no_picture_are_the_callers_error(peer: PeerServer) -> None:
    reply = call(peer, rest(b"no picture", "/recognize"))
    assert reply.status == "400"
    assert "wanted a JPEG" in reply.error


@pytest.mark.server
def test_a_stopped_peer_leaves_no_process(peer: PeerServer, running: ExitStack) -> None:
    pids = find_tree(peer.process.pid)
    assert len(pids) >= 3
    assert peer.describe_end() == ""
    running.close()
    until(lambda: not any(map(find_tree, pids)), "the end of its processes")
    assert "FastAPI: ended" in peer.describe_end()


def test_a_peer_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_processes, "HOST", "192.0.2.1")  # of no machine
    with (
        pytest.raises(ServerError, match=r"wanted FastAPI ready .* got its end; .*assign"),
        run_peer(SETTINGS),
    ):
        pass
