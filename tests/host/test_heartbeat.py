"""Heartbeats, written by a worker and read by its supervisor."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.host.heartbeat import ASK, Beat, Heartbeat, Heartbeats, State, read


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    return str(tmp_path / "beat_")


def now(prefix: str) -> Beat:
    return Heartbeats(prefix).read(os.getpid())


def test_a_worker_that_never_wrote_anything_is_idle(prefix: str) -> None:
    assert now(prefix) == Beat()
    assert not Heartbeats(prefix).exists(os.getpid())


def test_a_step_is_told_with_its_calls_its_picture_and_its_limit(prefix: str) -> None:
    heartbeat, before = Heartbeat(2.5, prefix), time.monotonic()
    assert Heartbeats(prefix).exists(os.getpid())
    with heartbeat.work(["gate-7#1-2"], "a file of 9 bytes", more_s=1):
        beat = now(prefix)
        assert before <= beat.since <= time.monotonic()
        assert (beat.state, beat.limit_s) == (State.WORKING, 3.5)
        assert (beat.calls, beat.picture) == (("gate-7#1-2",), "a file of 9 bytes")
        heartbeat.take(["gate-7#1-2"], "640x480")
        assert (now(prefix).picture, now(prefix).limit_s) == ("640x480", 2.5)
    assert now(prefix).state is State.IDLE


def test_a_step_may_wait_for_another_model_and_fail(prefix: str) -> None:
    heartbeat = Heartbeat(2.5, prefix)
    with heartbeat.work(["a"]):
        with heartbeat.wait():
            assert now(prefix).state is State.WAITING
        assert now(prefix).state is State.WORKING
    with pytest.raises(ValueError, match="no plate"), heartbeat.work(["a"]):
        raise ValueError("no plate")
    assert now(prefix).state is State.IDLE


def test_without_a_limit_none_is_told_however_long_the_step(prefix: str) -> None:
    with Heartbeat(0, prefix).work(["a"], more_s=5):
        assert now(prefix).limit_s == 0


def test_of_a_long_id_the_end_is_kept_which_tells_it_from_others(prefix: str) -> None:
    with Heartbeat(1, prefix).work(["x" * 9000 + "#1-2"] * 40):
        calls = now(prefix).calls
    assert len(calls) == 16
    assert calls[0].endswith("x#1-2")


def test_where_there_is_no_room_a_worker_works_unwatched(tmp_path: Path) -> None:
    prefix = str(tmp_path / "missing" / "beat_")
    with Heartbeat(1, prefix).work(["a"]):
        assert now(prefix) == Beat()


@pytest.mark.parametrize("content", [b"", b"\0" * 7, b"\xff" * 4096])
def test_a_file_that_says_nothing_is_an_idle_worker_s(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "beat_7").write_bytes(content)
    assert read(str(tmp_path / "beat_"), 7) == Beat()


LOOPS = """
import sys
from orchestrator.host.heartbeat import Heartbeat
heartbeat = Heartbeat.of_model({"parameters": {"hang_s": {"string_value": "4"}}})
def decode_for_ever():
    with heartbeat.work(["gate-7"]):
        print(flush=True)
        while True: pass
decode_for_ever()
"""


@pytest.mark.parametrize("number", [ASK, signal.SIGSEGV])
def test_a_worker_follows_its_configuration_and_writes_its_stack(prefix: str, number: int) -> None:
    variables = {**os.environ, "PLATES_HEARTBEATS": prefix, "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen(
        [sys.executable, "-c", LOOPS], env=variables, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        assert read(prefix, child.pid).limit_s == 4
        child.send_signal(number)
        while "decode_for_ever" not in Heartbeats(prefix).read_stack(child.pid):
            time.sleep(0.01)
        child.kill()
    assert Heartbeats(prefix).read_stack(0) == ""
