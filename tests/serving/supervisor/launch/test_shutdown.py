"""A server ends after its last calls, or after the timeout."""

import signal
import subprocess
from collections.abc import Callable

import pytest

from orchestrator.serving.supervisor.launch.shutdown import CHECK_S, IDLE_S, Shutdown


class FakeProcess:
    """A server that ends at a time, or never; notes its signals."""

    pid = 7

    def __init__(self, clock: Callable[[], float], ends_at: float) -> None:
        self.clock, self.ends_at, self.signals = clock, ends_at, []

    def poll(self) -> int | None:
        return 0 if self.clock() >= self.ends_at else None

    def send_signal(self, number: int) -> None:
        self.signals.append(number)


class ShutdownStory:
    """A server, with a clock that moves with each wait.

    Args:
        busy_until: When its last call is answered.
        ends_at: When it ends by itself.
    """

    def __init__(
        self, *, busy_until: float, ends_at: float = 1e9, sends_traces: bool = False
    ) -> None:
        self.now, self.waits = 0.0, 0
        self.process = FakeProcess(lambda: self.now, ends_at)
        self.shutdown = Shutdown(
            self.process,
            lambda: self.now >= busy_until,
            sends_traces=sends_traces,
            clock=lambda: self.now,
            sleep=self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def on_wait(self) -> None:
        self.waits += 1


def test_a_server_is_idle_some_time_after_its_last_call() -> None:
    story = ShutdownStory(busy_until=3.0)
    assert story.shutdown.wait_until_idle(10, story.on_wait)
    assert story.now == pytest.approx(3.0 + IDLE_S, abs=2.5 * CHECK_S)
    assert story.waits == round(story.now / CHECK_S)


def test_a_server_that_is_never_idle_is_waited_for_no_longer_than_allowed() -> None:
    story = ShutdownStory(busy_until=1e9)
    assert not story.shutdown.wait_until_idle(2)
    assert story.now == pytest.approx(2, abs=2 * CHECK_S)


def test_a_server_that_ended_need_not_be_waited_for() -> None:
    story = ShutdownStory(busy_until=1e9, ends_at=1.0)
    assert story.shutdown.wait_until_idle(10)
    assert story.now == pytest.approx(1, abs=2 * CHECK_S)


def test_a_server_without_calls_is_not_waited_for_until_it_ends(caplog) -> None:
    story = ShutdownStory(busy_until=0, ends_at=10)
    story.shutdown.terminate(20)
    assert story.process.signals == [signal.SIGTERM]
    assert story.now < 1
    assert caplog.messages == []


def test_a_server_with_traces_to_send_is_waited_for_until_it_ends(caplog) -> None:
    story = ShutdownStory(busy_until=0, ends_at=10, sends_traces=True)
    story.shutdown.terminate(20, story.on_wait)
    assert story.now == pytest.approx(10, abs=2 * CHECK_S)
    assert story.waits
    assert caplog.messages == []


@pytest.mark.parametrize("sends_traces", [True, False])
def test_a_server_that_does_not_end_in_time_is_logged(caplog, sends_traces: bool) -> None:
    story = ShutdownStory(busy_until=1e9, sends_traces=sends_traces)
    story.shutdown.terminate(5)
    assert caplog.messages == ["tritonserver did not end within 5 s; killing it"]


def test_a_server_that_ended_gets_no_signal() -> None:
    story = ShutdownStory(busy_until=0, ends_at=0)
    story.shutdown.terminate(5)
    assert story.process.signals == []


def test_a_killed_server_takes_its_workers_with_it() -> None:
    with subprocess.Popen(
        ["sh", "-c", "sleep 600 & wait"], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        Shutdown(process, lambda: True).kill()
        assert process.stdout.read() == b""  # the worker, too, has closed it
    assert process.returncode == -signal.SIGKILL
