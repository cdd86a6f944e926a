"""Services are started in order, replaced when they die, and stopped the other way round."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from orchestrator.errors import ServerError
from orchestrator.supervisor import service_loop
from orchestrator.supervisor.service_loop import KeptService, keep_running


class Fake:
    """A service that tells what becomes of it, and is found dead as often as it was told."""

    def __init__(self, name: str, told: list[str], deaths: int = 0) -> None:
        self.name, self.told, self.deaths = name, told, deaths

    def start(self) -> "Fake":
        self.told.append(f"start {self.name}")
        return self

    def tend(self) -> bool:
        self.deaths -= 1
        return self.deaths < 0

    def stop(self, timeout_s: float = 20.0) -> None:
        self.told.append(f"stop {self.name} {timeout_s:.0f}")


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """How long was waited before a service was started again; nothing is waited for here."""
    waited: list[float] = []
    monkeypatch.setattr(service_loop, "AGAIN", replace(service_loop.AGAIN, sleep=waited.append))
    return waited


@pytest.fixture
def looks(monkeypatch) -> Callable[[int], None]:
    """Let a supervisor look so many times, and then be interrupted."""

    def look(times: int) -> None:
        left = [None] * times

        def sleep(seconds: float) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop()

        monkeypatch.setattr("orchestrator.supervisor.service_loop.time.sleep", sleep)

    return look


def kept(*services: Fake) -> list[KeptService]:
    return [KeptService(one.name, one.start) for one in services]


def test_services_are_stopped_in_the_other_order(told, looks) -> None:
    looks(3)
    with pytest.raises(KeyboardInterrupt):
        keep_running(kept(Fake("a", told), Fake("b", told)), lambda: told.append("all there"))
    assert told == ["start a", "start b", "all there", "stop b 20", "stop a 20"]


def test_the_one_that_died_alone_is_replaced(told, looks) -> None:
    looks(1)
    with pytest.raises(KeyboardInterrupt):
        keep_running(kept(Fake("a", told), Fake("b", told, deaths=1)))
    assert told == ["start a", "start b", "stop b 1", "start b", "stop b 20", "stop a 20"]


def test_those_that_run_are_stopped_when_another_cannot_be_started(told) -> None:
    def fail() -> Fake:
        raise ServerError("no port")

    with pytest.raises(ServerError, match="no port"):
        keep_running([*kept(Fake("a", told)), KeptService("b", fail)])
    assert told == ["start a", "stop a 20"]


def test_a_start_that_fails_is_tried_again(told, looks, pauses) -> None:
    looks(1)
    outcomes = [Fake("a", told, deaths=1), ServerError("no memory"), ServerError("no port")]
    outcomes.append(Fake("a", told))

    def start() -> Fake:
        outcome = outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    with pytest.raises(KeyboardInterrupt):
        keep_running([KeptService("a", start)])
    assert told == ["stop a 1", "stop a 20"]
    assert len(pauses) == 2


def test_a_service_that_never_starts_again_is_given_up(told, looks, pauses) -> None:
    looks(1)
    begun = [Fake("a", told, deaths=1)]

    def start() -> Fake:
        if not begun:
            raise ServerError("no disk")
        return begun.pop()

    with pytest.raises(ServerError, match="no disk"):
        keep_running([KeptService("a", start)])
    assert len(pauses) == 5


@dataclass
class Scripted:
    """A service that goes through a list of errors before it is well; None for none."""

    told: list[str]
    starts: list[BaseException | None] = field(default_factory=list)
    looks: list[BaseException | None] = field(default_factory=list)
    fault: Exception | None = None

    def start(self) -> "Scripted":
        self.told.append("start")
        self._go_on(self.starts)
        return self

    def tend(self) -> bool:
        self._go_on(self.looks)
        return True

    def stop(self, timeout_s: float = 20.0) -> None:
        self.told.append(f"stop {timeout_s:.0f}")
        self._go_on([self.fault])

    @staticmethod
    def _go_on(script: list[BaseException | None]) -> None:
        error = script.pop(0) if script else None
        if error:
            raise error


@pytest.fixture
def no_pauses(monkeypatch) -> None:
    monkeypatch.setattr(service_loop, "PAUSES_S", (0.0, 0.0))


UNEXPECTED = FileNotFoundError("no such folder")


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize(
    ("starts", "looks_like", "lines"),
    [
        pytest.param([], [UNEXPECTED], ["start", "stop 1", "start"], id="look"),
        pytest.param(
            [None, UNEXPECTED], [UNEXPECTED], ["start", "stop 1", "start", "start"], id="start"
        ),
        pytest.param(
            [None, *[UNEXPECTED] * 9], [UNEXPECTED], ["start", "stop 1", *["start"] * 10], id="many"
        ),
    ],
)
def test_an_unexpected_error_of_one_service_is_its_own_failure(
    told, looks, caplog, starts, looks_like, lines: list[str]
) -> None:
    looks(20)
    faulty = Scripted(told, starts, looks_like)
    other: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        keep_running([KeptService("Triton", faulty.start), *kept(Fake("b", other))])
    assert told == [*lines, "stop 20"]
    assert other == ["start b", "stop b 20"]
    assert "Triton failed unexpectedly; starting again in 0 s" in caplog.text
    assert "FileNotFoundError: no such folder" in caplog.text


def test_a_service_that_failed_unexpectedly_is_left_alone_for_a_while(told, looks) -> None:
    looks(20)
    faulty = Scripted(told, looks=[UNEXPECTED])
    with pytest.raises(KeyboardInterrupt):
        keep_running([KeptService("Triton", faulty.start)])
    assert told == ["start", "stop 1"]


@pytest.mark.usefixtures("no_pauses")
def test_a_service_that_cannot_be_stopped_is_started_again_all_the_same(told, looks) -> None:
    looks(2)
    faulty, other = Scripted(told, looks=[UNEXPECTED], fault=OSError("no such process")), []
    with pytest.raises(KeyboardInterrupt):
        keep_running([*kept(Fake("b", other)), KeptService("Triton", faulty.start)])
    assert told == ["start", "stop 1", "start", "stop 20"]
    assert other == ["start b", "stop b 20"]


def test_who_interrupts_a_look_ends_everything(told) -> None:
    faulty = Scripted(told, looks=[KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        keep_running([KeptService("Triton", faulty.start)])
    assert told == ["start", "stop 20"]


def hang_up() -> None:
    """Do what SIGHUP does, without the signal: native threads of other tests would get it, too."""
    signal.getsignal(signal.SIGHUP)(signal.SIGHUP, None)


@pytest.fixture
def no_terminal(monkeypatch, tmp_path) -> None:
    """Be a process without a terminal, as a service is."""
    monkeypatch.setattr(service_loop, "TERMINAL", tmp_path / "none")


def renewable(told: list[str]) -> KeptService:
    def renew(old: Fake, others: Callable[[], None]) -> Fake:
        told.append(f"renew {old.name}")
        others()
        return Fake("a2", told)

    return KeptService("a", Fake("a", told).start, renew)


def test_a_service_is_renewed_when_the_process_is_told_to_restart(told, looks, no_terminal) -> None:
    looks(2)
    both = [renewable(told), *kept(Fake("b", told))]
    with pytest.raises(KeyboardInterrupt):
        keep_running(both, lambda: hang_up())
    assert told == ["start a", "start b", "renew a", "stop b 20", "stop a2 20"]


def test_the_others_are_looked_after_while_one_is_renewed(told, looks, no_terminal) -> None:
    looks(2)
    both = [renewable(told), *kept(Fake("b", told, deaths=1))]
    with pytest.raises(KeyboardInterrupt):
        keep_running(both, lambda: hang_up())
    assert told[2:5] == ["renew a", "stop b 1", "start b"]


def test_a_service_that_is_worn_is_renewed_unasked(told, looks, no_terminal) -> None:
    looks(2)
    worn = replace(renewable(told), is_worn=lambda service: service.name == "a")
    with pytest.raises(KeyboardInterrupt):
        keep_running([worn])
    assert told == ["start a", "renew a", "stop a2 20"]


@pytest.fixture
def unrenewable(told: list[str]) -> KeptService:
    """A worn service whose successors cannot be started."""

    def renew(old: Fake, _others: Callable[[], None]) -> Fake:
        told.append("renew")
        return old

    return KeptService("a", Fake("a", told).start, renew, lambda _service: True)


def test_a_worn_service_that_cannot_be_renewed_is_left_alone_for_a_while(
    unrenewable, told, looks, no_terminal, caplog
) -> None:
    looks(20)
    with pytest.raises(KeyboardInterrupt):
        keep_running([unrenewable])
    assert told.count("renew") == 1
    assert "a was not renewed; the next try is in 60 s, or at the next SIGHUP" in caplog.messages


def test_a_worn_service_is_tried_again_after_the_pause(
    unrenewable, told, looks, no_terminal, monkeypatch
) -> None:
    looks(3)
    monkeypatch.setattr(service_loop, "RENEWALS_S", (0.0, 0.0))
    with pytest.raises(KeyboardInterrupt):
        keep_running([unrenewable])
    assert told.count("renew") == 3


def test_who_asks_for_a_restart_does_not_wait_for_the_pause(
    unrenewable, told, monkeypatch, no_terminal
) -> None:
    left = ["look", "asked", "look", "look"]

    def sleep(_seconds: float) -> None:
        if not left:
            raise KeyboardInterrupt
        if left.pop(0) == "asked":
            hang_up()

    monkeypatch.setattr("orchestrator.supervisor.service_loop.time.sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        keep_running([unrenewable])
    assert told.count("renew") == 2


def test_a_renewal_that_fails_unexpectedly_ends_nothing(told, looks, no_terminal, caplog) -> None:
    looks(3)

    def renew(_old: Fake, _others: Callable[[], None]) -> Fake:
        raise UNEXPECTED

    with pytest.raises(KeyboardInterrupt):
        keep_running([KeptService("a", Fake("a", told).start, renew)], lambda: hang_up())
    assert told == ["start a", "stop a 20"]
    assert "a could not be renewed" in caplog.text
    assert "FileNotFoundError: no such folder" in caplog.text


def test_a_terminal_that_is_closed_restarts_nothing(monkeypatch, tmp_path) -> None:
    (tmp_path / "tty").touch()
    monkeypatch.setattr(service_loop, "TERMINAL", tmp_path / "tty")
    before = signal.getsignal(signal.SIGHUP)
    with service_loop.hear_restarts() as is_asked:
        assert signal.getsignal(signal.SIGHUP) is before
        assert not is_asked()


def test_a_restart_that_was_asked_for_once_is_made_once(no_terminal) -> None:
    before = signal.getsignal(signal.SIGHUP)
    with service_loop.hear_restarts() as is_asked:
        assert not is_asked()
        hang_up()
        assert [is_asked(), is_asked()] == [True, False]
    assert signal.getsignal(signal.SIGHUP) is before
