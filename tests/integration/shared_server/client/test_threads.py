"""One client that threads, asyncio tasks and forked processes share."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

import cv2
import pytest

from orchestrator import PlateClient, Plates
from tests.integration.conftest import Wire
from workshop.rendering.scenery import scene

STREETS = {
    "A123BC77": (320, 240),
    "M456OP199": (400, 224),
    "K777KK77": (300, 300),
    "B840OK197": (240, 320),
}
"""The text on each picture's only plate, and the picture's width and height."""
THREADS = 32
CALLS = 64
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def pictures() -> list[bytes]:
    drawn = (scene([text], size_wh, seed=2).picture for text, size_wh in STREETS.items())
    return [cv2.imencode(".jpg", picture)[1].tobytes() for picture in drawn]


@pytest.fixture
def alone(wire: Wire, pictures: list[bytes]) -> list[Plates]:
    """Plates of each picture from a call without load."""
    with PlateClient(wire.url, timeout_s=TIMEOUT_S) as client:
        plates = [client.recognize(picture) for picture in pictures]
    assert [plate.texts for plate in plates] == [[text] for text in STREETS]
    return plates


@pytest.fixture
def shared(wire: Wire) -> Iterator[PlateClient]:
    with PlateClient(wire.url, timeout_s=TIMEOUT_S) as client:
        yield client


def test_each_of_32_threads_gets_the_answer_to_its_own_picture(shared, pictures, alone) -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        calls = [threads.submit(shared.recognize, one) for one in islice(cycle(pictures), CALLS)]
        answers = [call.result(timeout=10 * TIMEOUT_S) for call in calls]
    assert answers == list(islice(cycle(alone), CALLS))


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
    files = [tmp_path / f"{number}.jpg" for number in range(2)]
    for file, picture in zip(files, pictures, strict=False):
        file.write_bytes(picture)

    def run(callers: int) -> str:
        command = [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            "-c",
            FORKING,
            wire.url,
            str(callers),
            *map(str, files),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def test_forked_children_call_and_so_does_their_parent(fork) -> None:
    assert fork(0) == "[0, 0, 0, 0]"


@pytest.mark.parametrize("wire", ["http"], indirect=True)
def test_children_may_be_forked_while_their_parent_calls_over_http(fork) -> None:
    assert fork(2) == "[0, 0, 0, 0]"
