"""Rounds over two servers that answer at once, each with a number of plates of its own."""

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ServerError
from tests.http_servers import QuietHandler, running_http
from workshop.benchmarks.bench.plan import Address
from workshop.benchmarks.commits import measurement
from workshop.benchmarks.commits.accuracy import BASE, HEAD
from workshop.benchmarks.commits.measurement import Plan, Results, measure, run_pair
from workshop.benchmarks.pictures import render
from workshop.benchmarks.service import Launch

PLATES = {BASE: 1, HEAD: 2}


@dataclass
class SideService:
    """A service in this process; `calls` has the side of each call that any service got."""

    side: str
    calls: list[str]
    has_ended: bool = False
    starts: list[str] = field(default_factory=list)
    pid: int = os.getpid()
    log: Path = Path("log")

    @contextmanager
    def run(self) -> Iterator[None]:
        service, answer = self, {"outputs": [{"shape": [PLATES[self.side], 4]}]}

        class PlatesHandler(QuietHandler, BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                service.calls.append(service.side)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

        with running_http(PlatesHandler) as server:
            self.gateway = Address(f"127.0.0.1:{server.server_port}")
            yield

    def is_running(self) -> bool:
        return not self.has_ended


@contextmanager
def run_services() -> Iterator[dict[str, SideService]]:
    calls: list[str] = []
    services = {side: SideService(side, calls) for side in (BASE, HEAD)}
    with services[BASE].run(), services[HEAD].run():
        yield services


@pytest.fixture
def services() -> Iterator[Any]:
    with run_services() as services:
        yield services


STREET = replace(render(0, (64, 64)), name="street")
PLAN = Plan({"street": STREET}, calls=(1, 2), rounds=2, seconds=0.02)


def starts(services: Any, ends: tuple[BaseException | None, ...]) -> Any:
    """Return a function that starts the services; each start may end in an exception."""
    remaining_ends = iter(ends)

    @contextmanager
    def start(sides: Sequence[str]) -> Iterator[Any]:
        services[BASE].starts.append(sides[0])
        if error := next(remaining_ends):
            raise error
        yield services

    return start


@pytest.fixture(scope="module")
def run_of_two_rounds() -> Iterator[tuple[Any, Results]]:
    """The services of a run of two rounds, and its results."""
    with run_services() as services:
        yield services, measure(PLAN, starts(services, (None, None)))


def test_every_cell_is_measured_twice_a_round_at_both_commits(run_of_two_rounds) -> None:
    services, results = run_of_two_rounds
    assert results.end_reason == ""
    assert len(results.samples) == 2 * 2 * 2 * 2  # rounds, passes, cells, sides
    sides = [sample.side for sample in results.samples]
    assert sides == [BASE, HEAD] * 2 + [HEAD, BASE] * 4 + [BASE, HEAD] * 2
    assert services[BASE].starts == [BASE, HEAD]  # either side is the first to start
    assert {(sample.side, sample.plates) for sample in results.samples} == set(PLATES.items())
    assert all(sample.figures.throughput > 0 for sample in results.samples)


def test_only_one_server_is_under_load_at_a_time(run_of_two_rounds) -> None:
    services, _ = run_of_two_rounds
    calls = services[BASE].calls
    changes = sum(side != next_side for side, next_side in itertools.pairwise(calls))
    # In a round: base and head warm up, then four pairs; neighbours of one side are one load.
    assert changes <= 2 * (2 + 2 * 4)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(KeyboardInterrupt(), "interrupted", id="ctrl-c"),
        pytest.param(ServerError("head: no answer"), "head: no answer", id="no-start"),
    ],
)
def test_an_early_end_keeps_the_rounds_before(services, error: BaseException, reason: str) -> None:
    results = measure(PLAN, starts(services, (None, error)))
    assert results.end_reason == reason
    assert {sample.round for sample in results.samples} == {0}


def test_a_server_that_never_starts_is_an_error(services) -> None:
    with pytest.raises(ServerError, match="no answer"):
        measure(PLAN, starts(services, (ServerError("head: no answer"),)))


def test_a_server_that_ends_is_an_error(services) -> None:
    services[HEAD].has_ended = True
    with pytest.raises(ServerError, match="wanted a server that runs"):
        measure(PLAN, starts(services, (None, None)))


def test_each_server_and_its_children_import_the_code_of_their_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = []

    @contextmanager
    def note(launch: Launch) -> Iterator[None]:
        launches.append((launch.variables["PYTHONPATH"], launch.working_folder))
        yield

    monkeypatch.setattr(measurement, "run_service", note)
    trees = {side: tmp_path / side for side in (BASE, HEAD)}
    with run_pair(trees, (), tmp_path):
        pass
    assert launches == [(str(tree), tree) for tree in trees.values()]
