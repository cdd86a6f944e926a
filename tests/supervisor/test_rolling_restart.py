"""Triton is put in the place of another so that the gateway has one at any time."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from orchestrator.errors import ServerError
from orchestrator.protocol.gateway_events import Event, WorkerDied, WorkersReplaced
from orchestrator.supervisor import rolling_restart, triton_server
from orchestrator.supervisor.crash_report import ModelReloaded, WorkerDeath
from orchestrator.supervisor.options import ServerOptions
from orchestrator.supervisor.rolling_restart import RollingTriton, moved_to
from orchestrator.system.heartbeat import Beat, State
from orchestrator.system.retry import Retries

OPTIONS = ServerOptions(http_port=1, grpc_port=2, metrics_port=3)


@dataclass
class Fake:
    """A Triton that tells when it stops."""

    name: str
    told: list[str]
    is_alive: bool = True

    def tend(self) -> bool:
        return self.is_alive

    def retire(self, meanwhile: Callable[[], None]) -> None:
        self.told.append(f"retire {self.name}")
        meanwhile()

    def stop(self) -> None:
        self.told.append(f"stop {self.name}")


@pytest.fixture
def told() -> list[str]:
    """Events of the test, in order."""
    return []


@pytest.fixture
def begun() -> list[Fake]:
    """Tritons that were started."""
    return []


@pytest.fixture
def faults(told, begun, monkeypatch) -> list[int]:
    """Has starts fail by their number, the first being 1, and replaces the real ones."""
    failing: list[int] = []

    def start(options, models, tell, *, meanwhile) -> Fake:
        begun.append(Fake(f"{len(begun) + 1}", told))
        told.append(f"start {begun[-1].name}{' here' if options == OPTIONS else ''}")
        if meanwhile:
            meanwhile()
        if len(begun) in failing:
            raise ServerError("no room")
        return begun[-1]

    monkeypatch.setattr(triton_server, "start", start)
    monkeypatch.setattr(rolling_restart, "AGAIN", Retries(times=1, sleep=lambda _seconds: None))
    return failing


def tritons(told: list[str], tmp_path) -> RollingTriton:
    def tell(event: Event) -> None:
        told.append("moved back" if event == moved_to(OPTIONS) else "moved away")

    return RollingTriton(OPTIONS, tmp_path, tell)


def nothing() -> None:
    """There are no others."""


def test_a_third_stands_in_while_the_ports_change_hands(told, faults, tmp_path) -> None:
    assert tritons(told, tmp_path).renew(Fake("old", told), nothing).name == "2"
    assert told == [
        "start 1", "moved away", "retire old", "start 2 here", "moved back", "retire 1",
    ]  # fmt: skip


def test_one_start_will_do_where_a_gateway_finds_it_anywhere(told, faults, tmp_path) -> None:
    anywhere = replace(tritons(told, tmp_path), keeps_ports=False)
    assert anywhere.renew(Fake("old", told), nothing).name == "1"
    assert told == ["start 1", "moved away", "retire old"]


@pytest.mark.parametrize(
    ("failing", "serves", "stopped"),
    [
        pytest.param([1, 2], "old", [], id="the first"),
        pytest.param([2, 3], "1", ["retire old"], id="second"),
        pytest.param([1, 3], "4", ["retire old", "retire 2"], id="once each"),
    ],
)
def test_one_serves_whatever_cannot_be_started(
    told, faults, tmp_path, failing: list[int], serves: str, stopped: list[str]
) -> None:
    faults.extend(failing)
    assert tritons(told, tmp_path).renew(Fake("old", told), nothing).name == serves
    assert [one for one in told if one.startswith(("retire", "stop"))] == stopped


def test_a_triton_that_dies_while_its_successor_starts_is_given_back(
    told, faults, tmp_path
) -> None:
    dead = Fake("old", told, is_alive=False)
    assert tritons(told, tmp_path).renew(dead, nothing) is dead
    assert told == ["start 1"]


def test_others_are_looked_after_while_one_starts(told, faults, tmp_path) -> None:
    tritons(told, tmp_path).renew(Fake("old", told), lambda: told.append("others"))
    assert told[:2] == ["start 1", "others"]


def test_others_are_looked_after_while_one_ends(told, faults, tmp_path) -> None:
    tritons(told, tmp_path).renew(Fake("old", told), lambda: told.append("others"))
    assert told == [
        "start 1", "others", "moved away", "retire old", "others",
        "start 2 here", "others", "moved back", "retire 1", "others",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("when", "stopped"),
    [
        pytest.param("start 1", [], id="first start"),
        pytest.param("retire old", ["stop 1"], id="first end"),
        pytest.param("start 2 here", ["stop 1"], id="second start"),
        pytest.param("retire 1", ["stop 1", "stop 2"], id="second end"),
    ],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no number")], ids=repr)
def test_those_that_were_begun_are_stopped_when_everything_ends(
    told, faults, tmp_path, when: str, stopped: list[str], error: BaseException
) -> None:
    def end() -> None:
        if told[-1] == when:
            raise error

    with pytest.raises(type(error)):
        tritons(told, tmp_path).renew(Fake("old", told), end)
    assert [one for one in told if one.startswith("stop")] == stopped


def test_a_new_triton_that_dies_while_the_old_one_ends_is_given_back(
    told, faults, begun, tmp_path
) -> None:
    def die() -> None:
        if told[-1] == "retire old":
            begun[-1].is_alive = False

    assert tritons(told, tmp_path).renew(Fake("old", told), die).name == "1"
    assert told == ["start 1", "moved away", "retire old"]


def test_the_gateway_hears_where_one_is_started_again(told, faults, tmp_path) -> None:
    tritons(told, tmp_path).start()
    assert told == ["start 1 here", "moved back"]


def test_the_gateway_hears_of_a_dead_worker_and_of_the_next(monkeypatch, tmp_path) -> None:
    events: list[Event] = []
    death = WorkerDeath("stn", 7, "SIGSEGV", Beat(State.WORKING, calls=("a#1-1",)), is_last=True)

    def start(_options, _models, tell, **_) -> None:
        tell(death)
        tell(ModelReloaded("stn"))

    monkeypatch.setattr(triton_server, "start", start)
    RollingTriton(OPTIONS, tmp_path, events.append).start()
    assert events[:2] == [
        WorkerDied("stn", "SIGSEGV", ("a#1-1",), is_last=True),
        WorkersReplaced("stn"),
    ]


def test_a_triton_that_listens_to_everybody_is_reached_on_this_machine() -> None:
    everybody = ServerOptions(host="0.0.0.0", http_port=1, grpc_port=2, metrics_port=3)
    assert moved_to(everybody) == moved_to(OPTIONS)
    assert (moved_to(OPTIONS).triton_http, moved_to(OPTIONS).triton_grpc) == (
        "127.0.0.1:1", "127.0.0.1:2",
    )  # fmt: skip
    assert moved_to(OPTIONS).triton_metrics == "http://127.0.0.1:3/metrics"
