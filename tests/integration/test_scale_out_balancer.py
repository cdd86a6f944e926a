"""Two real replicas behind a real HAProxy, and one of them lost while callers are at work."""

import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.scale_out import balancer
from benchmarks.scale_out.balancer import Balancer, run_balancer
from benchmarks.scale_out.callers import Load, known_pictures
from benchmarks.scale_out.replicas import Replica, run_replicas
from orchestrator.client import PlateClient
from orchestrator.errors import ServerError
from orchestrator.server.process import Server
from tests.waiting import until

RETRIES = 5
EACH = 2
"""Callers at once of each protocol."""
STEADY = "steady"
WIRES = {"http", "grpc"}


@pytest.fixture(scope="module")
def victim() -> Iterator[Replica]:
    """A replica that may be killed; the session's server, `STEADY`, is the other one."""
    try:
        balancer.find_program()
    except ServerError as error:
        pytest.skip(str(error))
    with run_replicas(1) as (replica,):
        yield replica


@pytest.fixture(scope="module")
def balanced(server: Server, victim: Replica) -> Iterator[Balancer]:
    listening = {STEADY: server.options, victim.name: victim.options}
    with run_balancer(listening) as running:
        until(lambda: all(map(running.is_up, listening)), "calls for each replica")
        yield running


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("v2/health/ready", 200),
        ("v2/models/plate_recognition/ready", 200),
        ("v2/models/yolo/ready", 404),
        ("v2/repository/index", 404),
        ("v2/trace/setting", 404),
        ("metrics", 404),
    ],
)
def test_callers_reach_what_they_need_and_nothing_else(
    balanced: Balancer, path: str, status: int
) -> None:
    assert status_of(f"http://{balanced.urls['http']}/{path}") == status


def test_the_balancer_tells_its_own_metrics(balanced: Balancer) -> None:
    assert status_of(f"http://localhost:{balanced.ports['metrics']}/metrics") == 200


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_picture_larger_than_the_balancers_buffer_is_answered(
    balanced: Balancer, protocol: str
) -> None:
    picture = np.full((1200, 1600, 3), 128, np.uint8)
    with PlateClient(balanced.urls[protocol]) as client:
        assert client.recognize(picture).texts == []


def test_no_call_is_lost_with_a_replica(balanced: Balancer, victim: Replica) -> None:
    names = (STEADY, victim.name)
    load = Load(balanced.urls, EACH, known_pictures(), RETRIES)
    with load.run():
        before = balanced.taken(victim.name)
        until(
            lambda: all(n > before[wire] for wire, n in balanced.taken(victim.name).items()),
            "calls of both protocols for the replica",
        )
        victim.kill()
        killed = time.monotonic()
        until(lambda: not balanced.is_up(victim.name), "no more calls for the replica")
        until(
            lambda: {call.protocol for call in list(load.calls) if call.began > killed} == WIRES,
            "later calls of both protocols",
        )

    assert [call.failure for call in load.calls if call.failure] == []
    assert balanced.resent(names) + sum(call.retried for call in load.calls) > 0
