"""A failing start gives its reason; a start that takes too long is ended."""

from dataclasses import dataclass, field

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.supervisor import triton_start
from orchestrator.serving.supervisor.monitoring.server_log import ServerLog
from orchestrator.serving.supervisor.monitoring.workers import Worker
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_start import find_failure, is_ready, wait_until_ready

NOT_LOADED = "failed to load 'yolo' version 1: Internal: "
OOM = "MemoryError: no room"


AT_ONCE = ServerOptions(start_timeout_s=0.0)


@dataclass
class FakeServer:
    """A server that is starting."""

    lines: list[str] = field(default_factory=list)
    dead_workers: list[Worker] = field(default_factory=list)
    exit_text: str = ""
    options: ServerOptions = AT_ONCE
    models: tuple[str, ...] = ("yolo",)

    def __post_init__(self) -> None:
        self.log = ServerLog()
        self.log.follow(self.lines)
        self.workers = self

    def dead(self) -> list[Worker]:
        return self.dead_workers

    def exit_reason(self) -> str:
        return self.exit_text


DEAD = Worker(7, "stn", "Z", "SIGKILL")


@pytest.mark.parametrize(
    ("server", "failure"),
    [
        pytest.param(FakeServer(), "", id="still starting"),
        pytest.param(
            FakeServer(dead_workers=[DEAD]),
            "the worker of stn died while starting (SIGKILL)",
            id="worker",
        ),
        pytest.param(
            FakeServer([OOM], [Worker(7, "", "Z", "exit status 1")]),
            f"the worker of a model died while starting (exit status 1): {OOM}",
            id="unknown worker",
        ),
        pytest.param(
            FakeServer(dead_workers=[Worker(7, "yolo", "Z", "exit status 0")]),
            "",
            id="worker that Triton ended, before it says why",
        ),
        pytest.param(
            FakeServer([f"{NOT_LOADED}{OOM}"]), f"yolo: cannot be loaded: {OOM}", id="model"
        ),
        pytest.param(
            FakeServer([OOM, f"{NOT_LOADED}Stub process 'yolo' is not healthy."]),
            f"yolo: cannot be loaded: a worker that died: {OOM}",
            id="model whose worker died",
        ),
        pytest.param(
            FakeServer(exit_text="exit status 1"),
            "tritonserver ended while starting (exit status 1): it left no message",
            id="server",
        ),
    ],
)
def test_a_failed_start_has_one_reason(server: FakeServer, failure: str) -> None:
    assert find_failure(server) == failure


def test_a_server_that_nobody_reaches_is_not_ready() -> None:
    assert not is_ready(ServerOptions(http_port=1))


@pytest.fixture
def not_ready(monkeypatch) -> None:
    monkeypatch.setattr(triton_start, "is_ready", lambda _options, _models: False)


@pytest.mark.usefixtures("not_ready")
def test_a_start_that_failed_is_not_waited_for() -> None:
    with pytest.raises(ServerError, match=r"^the worker of stn died while starting"):
        wait_until_ready(FakeServer(dead_workers=[DEAD]), lambda: None)


@pytest.mark.usefixtures("not_ready")
def test_a_start_without_threads_names_their_limit() -> None:
    server = FakeServer([f"{NOT_LOADED}RuntimeError: Resource temporarily unavailable"])
    with pytest.raises(ServerError, match=r"^yolo: .* unavailable; .* too low: .*--pids-limit$"):
        wait_until_ready(server, lambda: None)


@pytest.mark.usefixtures("not_ready")
def test_a_start_that_takes_too_long_ends() -> None:
    with pytest.raises(ServerError, match=r"^tritonserver: not ready within 0 s; it left no mes"):
        wait_until_ready(FakeServer(), lambda: None)


def test_others_are_looked_at_until_the_server_is_ready(monkeypatch) -> None:
    answers = [False, False, True]
    monkeypatch.setattr(triton_start, "CHECK_S", 0.0)
    monkeypatch.setattr(triton_start, "is_ready", lambda _options, _models: answers.pop(0))
    waits: list[None] = []
    server = FakeServer(options=ServerOptions(start_timeout_s=60.0))
    wait_until_ready(server, lambda: waits.append(None))
    assert len(waits) == 2
