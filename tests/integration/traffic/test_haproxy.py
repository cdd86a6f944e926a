"""The shipped configuration of HAProxy, with two real services, one of which is killed."""

import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from orchestrator.client import PlateClient
from tests.integration.traffic.haproxy import PROGRAM, SHIPPED, Balancer, configure, run_balancer
from tests.waiting import until
from workshop.benchmarks.bench.plan import Address
from workshop.benchmarks.pictures import render
from workshop.benchmarks.service import Launch, Service, run_service

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="haproxy is not installed")
ADDRESSES = {
    "one": Address("127.0.0.1:1101", "127.0.0.1:1102"),
    "two": Address("127.0.0.1:1201", "127.0.0.1:1202"),
}
PORTS = {"plates_http": 2001, "plates_grpc": 2002, "metrics": 2003}
WITH_ADDRESSES = ("bind ", "server ", "stats socket ")
"""Prefixes of the output lines with an address or a path."""


def lines_of(text: str, *, has_address: bool) -> list[str]:
    lines = map(str.strip, text.splitlines())
    return [line for line in lines if line.startswith(WITH_ADDRESSES) == has_address]


def test_every_service_is_behind_both_front_ends_and_grpc_follows_http() -> None:
    text = configure(ADDRESSES, PORTS, Path("/run/admin.sock"))
    assert lines_of(text, has_address=False) == lines_of(SHIPPED.read_text(), has_address=False)
    assert lines_of(text, has_address=True) == [
        "stats socket /run/admin.sock mode 600 level admin",
        "bind 127.0.0.1:2001",
        "bind 127.0.0.1:2002 proto h2",
        "bind 127.0.0.1:2003",
        "server one 127.0.0.1:1101 check",
        "server two 127.0.0.1:1201 check",
        "server one 127.0.0.1:1102 proto h2 track plates_http/one",
        "server two 127.0.0.1:1202 proto h2 track plates_http/two",
    ]


def test_haproxy_takes_the_shipped_configuration() -> None:
    child = subprocess.run([PROGRAM, "-c", "-f", SHIPPED], capture_output=True, text=True)
    assert (child.returncode, child.stderr) == (0, "")


@pytest.fixture(scope="module")
def replicas() -> Iterator[dict[str, Service]]:
    """Two services; a test may kill the last one."""
    with ExitStack() as stack:
        launch = Launch(flags=("--one-model", "--device=cpu", "--threads=1", "--pictures=1"))
        yield {name: stack.enter_context(run_service(launch)) for name in ADDRESSES}


@pytest.fixture(scope="module")
def balancer(
    replicas: dict[str, Service], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Balancer]:
    addresses = {name: service.gateway for name, service in replicas.items()}
    with run_balancer(addresses, tmp_path_factory.mktemp("haproxy")) as running:
        until(lambda: all(map(running.is_up, addresses)), "calls for each service")
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
    balancer: Balancer, path: str, status: int
) -> None:
    assert status_of(f"http://{balancer.urls['http']}/{path}") == status


def test_the_balancer_tells_its_own_metrics(balancer: Balancer) -> None:
    assert status_of(f"http://localhost:{balancer.ports['metrics']}/metrics") == 200


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_picture_larger_than_the_balancers_buffer_is_answered(
    balancer: Balancer, protocol: str
) -> None:
    picture = np.full((1200, 1600, 3), 128, np.uint8)
    with PlateClient(balancer.urls[protocol]) as client:
        assert client.recognize(picture).texts == []


def test_methods_that_are_not_for_callers_end_at_the_balancer(balancer: Balancer) -> None:
    with InferenceServerClient(balancer.urls["grpc"].removeprefix("grpc://")) as client:
        assert client.get_server_metadata().name
        assert client.get_model_config("plate_reader").config.name == "plate_reader"
        with pytest.raises(InferenceServerException, match="UNIMPLEMENTED"):
            client.get_model_repository_index()


class Callers:
    """Callers that send one picture in a loop, two over each protocol.

    Attributes:
        texts: The texts of every answer.
        ended_s: The moment of the last answer, by protocol.
        retried: The number of calls that the clients sent again.
    """

    def __init__(self) -> None:
        self.file_bytes = render(1).file_bytes
        self.texts: list[list[str]] = []
        self.ended_s: dict[str, float] = {}
        self.retried = 0
        self.is_over = threading.Event()

    def call(self, protocol: str, url: str) -> None:
        with PlateClient(url, retries=5) as client:
            while not self.is_over.is_set():
                self.texts.append(client.recognize(self.file_bytes).texts)
                self.ended_s[protocol] = time.monotonic()
            self.retried += client.retried


def test_no_call_is_lost_with_a_service(balancer: Balancer, replicas: dict[str, Service]) -> None:
    name, victim = list(replicas.items())[-1]
    callers = Callers()
    with ThreadPoolExecutor() as pool:
        futures = [
            pool.submit(callers.call, *item) for item in balancer.urls.items() for _ in range(2)
        ]
        try:
            old_counts = balancer.count_calls(name)
            until(
                lambda: all(
                    count > old_counts[way] for way, count in balancer.count_calls(name).items()
                ),
                "calls of both protocols for the service",
            )
            victim.kill()
            killed_s = time.monotonic()
            until(lambda: not balancer.is_up(name), "no more calls for the service")
            until(lambda: min(callers.ended_s.values()) > killed_s + 1, "answers to both protocols")
        finally:
            callers.is_over.set()
        for caller in futures:
            caller.result()

    assert {len(texts) for texts in callers.texts} == {1}
    assert {*map(tuple, callers.texts)} == {tuple(callers.texts[0])}
    assert callers.retried + sum(map(balancer.count_resent, replicas)) > 0
