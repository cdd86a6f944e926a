"""One Triton replaces another, so that the gateway always has one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from orchestrator.errors import ServerError, SettingsError
from orchestrator.host.retry import Retries
from orchestrator.serving.protocol.gateway_events import Event, WorkerDied
from orchestrator.serving.supervisor import triton_service
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_service import TritonService, locate

OPTIONS = ServerOptions(http_port=1, grpc_port=2, metrics_port=3)


@dataclass
class StubTriton:
    """A Triton that notes when it stops."""

    name: str
    events: list[str]
    is_alive: bool = True

    def monitor(self) -> bool:
        return self.is_alive

    def drain(self, on_wait: Callable[[], None]) -> None:
        self.events.append(f"drain {self.name}")
        on_wait()

    def stop(self) -> None:
        self.events.append(f"stop {self.name}")


@pytest.fixture
def events() -> list[str]:
    """Events of the test, in order."""
    return []


@pytest.fixture
def tritons() -> list[StubTriton]:
    """Tritons that were started."""
    return []


@pytest.fixture
def faults(events, tritons, monkeypatch) -> list[int]:
    """Has starts fail by their number, the first being 1, and replaces the real ones."""
    failing_starts: list[int] = []

    def start(options, models, notify, *, on_wait) -> StubTriton:
        tritons.append(StubTriton(f"{len(tritons) + 1}", events))
        events.append(f"start {tritons[-1].name}{' here' if options == OPTIONS else ''}")
        if on_wait:
            on_wait()
        if len(tritons) in failing_starts:
            raise ServerError("no room")
        return tritons[-1]

    monkeypatch.setattr(triton_service, "start", start)
    monkeypatch.setattr(triton_service, "check_shared_memory", lambda _options: None)
    monkeypatch.setattr(
        triton_service, "START_RETRIES", Retries(times=1, sleep=lambda _seconds: None)
    )
    return failing_starts


def make_service(events: list[str], tmp_path) -> TritonService:
    def notify(event: Event) -> None:
        events.append("moved back" if event == locate(OPTIONS) else "moved away")

    return TritonService(OPTIONS, tmp_path, notify)


def nothing() -> None:
    """There are no others."""


@pytest.mark.usefixtures("faults")
def test_models_that_were_removed_keep_the_triton_that_has_loaded_them(events, tmp_path) -> None:
    service = make_service(events, tmp_path)
    first = service.start()
    tmp_path.rmdir()
    assert service.restart(first, nothing) is first
    with pytest.raises(SettingsError, match="somebody removed it while the service ran"):
        service.start()


def test_a_third_stands_in_while_the_ports_change_hands(events, faults, tmp_path) -> None:
    assert make_service(events, tmp_path).restart(StubTriton("old", events), nothing).name == "2"
    assert events == [
        "start 1", "moved away", "drain old", "start 2 here", "moved back", "drain 1",
    ]  # fmt: skip


def test_one_start_will_do_where_a_gateway_finds_it_anywhere(events, faults, tmp_path) -> None:
    anywhere = replace(make_service(events, tmp_path), keeps_ports=False)
    assert anywhere.restart(StubTriton("old", events), nothing).name == "1"
    assert events == ["start 1", "moved away", "drain old"]


@pytest.mark.parametrize(
    ("failing", "serves", "ends"),
    [
        pytest.param([1, 2], "old", [], id="the first"),
        pytest.param([2, 3], "1", ["drain old"], id="second"),
        pytest.param([1, 3], "4", ["drain old", "drain 2"], id="once each"),
    ],
)
def test_one_serves_whatever_cannot_be_started(
    events, faults, tmp_path, failing: list[int], serves: str, ends: list[str]
) -> None:
    faults.extend(failing)
    assert make_service(events, tmp_path).restart(StubTriton("old", events), nothing).name == serves
    assert [event for event in events if event.startswith(("drain", "stop"))] == ends


def test_a_triton_that_dies_while_its_successor_starts_is_given_back(
    events, faults, tmp_path
) -> None:
    dead = StubTriton("old", events, is_alive=False)
    assert make_service(events, tmp_path).restart(dead, nothing) is dead
    assert events == ["start 1"]


def test_others_are_monitored_while_one_starts_and_while_one_ends(events, faults, tmp_path) -> None:
    make_service(events, tmp_path).restart(
        StubTriton("old", events), lambda: events.append("others")
    )
    assert events == [
        "start 1", "others", "moved away", "drain old", "others",
        "start 2 here", "others", "moved back", "drain 1", "others",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("when", "stops"),
    [
        pytest.param("start 1", [], id="first start"),
        pytest.param("drain old", ["stop 1"], id="first end"),
        pytest.param("start 2 here", ["stop 1"], id="second start"),
        pytest.param("drain 1", ["stop 1", "stop 2"], id="second end"),
    ],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no number")], ids=repr)
def test_those_that_were_started_are_stopped_when_everything_ends(
    events, faults, tmp_path, when: str, stops: list[str], error: BaseException
) -> None:
    def end() -> None:
        if events[-1] == when:
            raise error

    with pytest.raises(type(error)):
        make_service(events, tmp_path).restart(StubTriton("old", events), end)
    assert [event for event in events if event.startswith("stop")] == stops


def test_a_new_triton_that_dies_while_the_old_one_ends_is_given_back(
    events, faults, tritons, tmp_path
) -> None:
    def die() -> None:
        if events[-1] == "drain old":
            tritons[-1].is_alive = False

    assert make_service(events, tmp_path).restart(StubTriton("old", events), die).name == "1"
    assert events == ["start 1", "moved away", "drain old"]


def test_the_gateway_is_told_where_one_is_started_again(events, faults, tmp_path) -> None:
    make_service(events, tmp_path).start()
    assert events == ["start 1 here", "moved back"]


def test_the_gateway_gets_the_events_of_each_triton(monkeypatch, tmp_path) -> None:
    events: list[Event] = []
    death = WorkerDied("stn", "SIGSEGV", ("a#1-1",), is_last=True)
    monkeypatch.setattr(triton_service, "start", lambda _o, _m, notify, **_: notify(death))
    TritonService(OPTIONS, tmp_path, events.append).start()
    assert events == [death, locate(OPTIONS)]


def test_a_successor_without_shared_memory_is_not_started(
    events, faults, tmp_path, monkeypatch
) -> None:
    def refuse(_options: ServerOptions) -> None:
        raise ServerError("no shared memory")

    monkeypatch.setattr(triton_service, "check_shared_memory", refuse)
    old = StubTriton("old", events)
    assert make_service(events, tmp_path).restart(old, nothing) is old
    assert events == []


def test_a_triton_that_listens_to_everybody_is_reached_on_this_machine() -> None:
    everybody = ServerOptions(host="0.0.0.0", http_port=1, grpc_port=2, metrics_port=3)
    assert locate(everybody) == locate(OPTIONS)
    assert (locate(OPTIONS).triton_http, locate(OPTIONS).triton_grpc) == (
        "127.0.0.1:1", "127.0.0.1:2",
    )  # fmt: skip
    assert locate(OPTIONS).triton_metrics == "http://127.0.0.1:3/metrics"
