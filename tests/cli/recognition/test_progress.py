"""The progress bar, whose total comes from a thread."""

import threading
from queue import SimpleQueue

import pytest

from orchestrator.cli.recognition.progress import ProgressOutput
from orchestrator.errors import PictureError


def test_a_count_that_fails_is_left_to_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list may be gone when it is counted. Python would print the thread's traceback."""
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    tracebacks, threads = SimpleQueue[object](), SimpleQueue[threading.Thread]()
    monkeypatch.setattr("threading.excepthook", tracebacks.put)

    def count() -> int:
        threads.put(threading.current_thread())
        raise PictureError("list.txt: cannot be read: No such file or directory")

    with ProgressOutput().progress(count):
        threads.get(timeout=10).join()
    assert tracebacks.empty()
