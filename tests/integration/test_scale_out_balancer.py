"""Two real replicas behind a real HAProxy, and one of them lost while callers are at work."""

import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from orchestrator.client import PlateClient
from orchestrator.errors import ServerError
from tests.waiting import until
from workshop.benchmarks.scale_out import balancer
from workshop.benchmarks.scale_out.balancer import Balancer, run_balancer
from workshop.benchmarks.scale_out.callers import known_pictures, open_load
from workshop.benchmarks.scale_out.replicas import run_replicas
from workshop.benchmarks.service import Service

RETRIES = 5
EACH = 2
"""Callers at once of each protocol."""
PROTOCOLS = {"http", "grpc"}


@pytest.fixture(scope="module")
def replicas() -> Iterator[list[Service]]:
    """Two replicas; the last of them may be killed."""
    try:
        balancer.find_program()
    except ServerError as error:
        pytest.skip(str(error))
    with run_replicas(2) as started:
        yield started


@pytest.fixture(scope="module")
def balanced(replicas: list[Service]) -> Iterator[Balancer]:
    listening = {replica.name: replica.gateway for replica in replicas}
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
        ("v2/models/plate_reader/versions/1/ready", 200),
        ("openapi.json", 200),
        ("docs", 200),
        ("readyz", 200),
        ("healthz", 200),
        ("v1/recognize", 405),
        ("v1/passes", 404),
        ("v2/models/yolo/ready", 404),
        ("v2/models/plate_recognition/stats", 404),
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


def test_methods_that_are_not_for_callers_end_at_the_balancer(balanced: Balancer) -> None:
    with InferenceServerClient(balanced.urls["grpc"].removeprefix("grpc://")) as client:
        assert client.get_server_metadata().name
        assert client.get_model_config("plate_reader").config.name == "plate_reader"
        with pytest.raises(InferenceServerException, match="UNIMPLEMENTED"):
            client.get_model_repository_index()


def test_no_call_is_lost_with_a_replica(balanced: Balancer, replicas: list[Service]) -> None:
    names, victim = [replica.name for replica in replicas], replicas[-1]
    load = open_load(balanced.urls, EACH, known_pictures(), RETRIES)
    with load.run():
        before = balanced.taken(victim.name)
        until(
            lambda: all(n > before[name] for name, n in balanced.taken(victim.name).items()),
            "calls of both protocols for the replica",
        )
        victim.kill()
        killed = time.monotonic()
        until(lambda: not balanced.is_up(victim.name), "no more calls for the replica")
        until(
            lambda: (
                {call.protocol for call in list(load.calls) if call.began > killed} == PROTOCOLS
            ),
            "later calls of both protocols",
        )

    assert [call.error for call in load.calls if call.error] == []
    assert balanced.resent(names) + sum(call.retries for call in load.calls) > 0
