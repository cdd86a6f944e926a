"""One client that threads, asyncio tasks and forked processes share."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import pytest

from tests.integration.conftest import Wire
from workshop.rendering.scenery import scene


@pytest.fixture(scope="module")
def pictures() -> list[bytes]:
    scenes = (
        scene([text], size_wh, seed=2).picture
        for text, size_wh in {"A123BC77": (320, 240), "M456OP199": (400, 224)}.items()
    )
    return [cv2.imencode(".jpg", picture)[1].tobytes() for picture in scenes]


FORKING = """
import multiprocessing, sys, threading
from orchestrator import PlateClient

url, callers, *files = sys.argv[1:]
client = PlateClient(url, timeout_s=60)
wanted = [client.recognize(file) for file in files]
ended = threading.Event()

def call():
    assert [client.recognize(file) for file in files] == wanted

def call_on():
    while not ended.is_set():
        call()

def be_a_child():
    call()
    threads = [threading.Thread(target=call) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    call()

busy = [threading.Thread(target=call_on) for _ in range(int(callers))]
[thread.start() for thread in busy]
context = multiprocessing.get_context("fork")
children = [context.Process(target=be_a_child) for _ in range(4)]
[child.start() for child in children]
[child.join(120) for child in children]
ended.set()
[thread.join() for thread in busy]
call()
print([child.exitcode for child in children])
"""
"""Program: a process forks children while its threads make calls, and all children make calls."""


@pytest.fixture
def fork(wire: Wire, pictures, tmp_path: Path) -> Callable[[int], str]:
    """Runs `FORKING`, and returns its output."""
    files = [tmp_path / f"{number}.jpg" for number in range(len(pictures))]
    for file, picture in zip(files, pictures, strict=True):
        file.write_bytes(picture)

    def run(callers: int) -> str:
        flags = ["-W", "ignore::DeprecationWarning", "-c", FORKING]
        command = [sys.executable, *flags, wire.url, str(callers), *map(str, files)]
        child = subprocess.run(command, capture_output=True, text=True, timeout=240)
        assert child.returncode == 0, child.stderr
        return child.stdout.strip()

    return run


def test_forked_children_call_and_so_does_their_parent(fork) -> None:
    assert fork(0) == "[0, 0, 0, 0]"


@pytest.mark.parametrize("wire", ["http"], indirect=True)
def test_children_may_be_forked_while_their_parent_calls_over_http(fork) -> None:
    assert fork(2) == "[0, 0, 0, 0]"
