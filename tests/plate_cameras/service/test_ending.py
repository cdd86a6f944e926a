"""The end of a watch: its request, its messages and its time limit."""

import asyncio
import signal
import threading

import pytest

from plate_cameras.service.ending import Closing, Ending, run_until_asked
from tests.child_python import run_python
from tests.virtual_time import run_virtually, virtually


class EndingProcess:
    """The output and the end of a process."""

    def __init__(self, limit_s: float = 0.05, tell_s: float = 0.01) -> None:
        self.messages: list[str] = []
        self.status: int | None = None
        self.has_ended = threading.Event()
        self.ending = Ending(limit_s, tell_s=tell_s, exit_=self.exit, say=self.messages.append)
        self.ending.describe = lambda: "the store, 3 events that are not stored"

    def exit(self, status: int) -> None:
        self.status = status
        self.has_ended.set()


def test_a_hanging_end_is_told_and_limited() -> None:
    process = EndingProcess()
    with process.ending.limit():
        process.ending.ask()
        assert process.has_ended.wait(10)
    steps = "the store, 3 events that are not stored"
    assert process.messages == [
        f"plates: ending, within 0.05 s. It waits for {steps}",
        f"plates: ended after 0.05 s, without {steps}",
    ]
    assert process.status == 1


def test_a_quick_end_says_nothing() -> None:
    process = EndingProcess(limit_s=60, tell_s=60)
    with process.ending.limit():
        process.ending.ask()
    assert (process.messages, process.status) == ([], None)


def test_the_first_signal_asks_and_the_second_ends_at_once() -> None:
    code = """
import signal
from plate_cameras.service.ending import Ending
ending = Ending(60, tell_s=60)
ending.describe = lambda: "the store"
with ending.limit(), ending.calling(lambda: print("asked", flush=True)):
    signal.raise_signal(signal.SIGTERM)
    print("goes on", flush=True)
    signal.raise_signal(signal.SIGINT)
    print("still here")
"""
    process = run_python(code, check=False, timeout=60)
    assert (process.returncode, process.stdout) == (1, "asked\ngoes on\n")
    assert process.stderr == "plates: ended at once by a second signal, without the store\n"


def test_signals_are_as_before_after_the_end() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with EndingProcess().ending.limit():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_description_that_fails_does_not_lift_the_limit() -> None:
    process = EndingProcess()
    process.ending.describe = lambda: [][0]
    with process.ending.limit():
        process.ending.ask()
        assert process.has_ended.wait(10)
    assert process.messages[-1] == "plates: ended after 0.05 s"


def test_steps_end_when_the_command_is_asked_to_end() -> None:
    ending, cancellations = Ending(), list[bool]()

    async def work() -> None:
        try:
            asyncio.get_running_loop().call_soon(ending.ask)
            await asyncio.sleep(1e6)
        finally:
            cancellations.append(True)

    run_virtually(run_until_asked(ending, [work()]))
    assert cancellations == [True]


def test_a_step_that_fails_ends_the_others_with_its_reason() -> None:
    async def fail() -> None:
        raise OSError("the writer has failed")

    with pytest.raises(OSError, match="the writer has failed"):
        run_virtually(run_until_asked(Ending(), [asyncio.sleep(1e6), fail()]))


@virtually
async def test_the_end_knows_which_steps_still_run(caplog: pytest.LogCaptureFixture) -> None:
    counts, texts = [3], list[str]()
    closing = Closing(lambda: counts[0])

    async def drain() -> None:
        await asyncio.sleep(1)
        texts.append(closing.describe())
        counts[0] = 1

    async def fail() -> None:
        raise OSError("no socket")

    await asyncio.gather(closing.run("the gates", fail), closing.run("the store", drain))
    texts.append(closing.describe())
    counts[0] = 0
    texts.append(closing.describe())
    assert texts == [
        "the store, 3 events that are not stored",
        "1 event that is not stored",
        "",
    ]
    assert "the gates could not be ended" in caplog.text
