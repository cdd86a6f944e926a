"""The functions of a call, and those of them that carry its picture."""

import sys
from collections.abc import Callable
from types import SimpleNamespace

from orchestrator.imaging.files import from_base64, shorten
from workshop.benchmarks.call_steps import Trace, show

PICTURE = bytes(1000)


def trace(run: Callable[[], object]) -> list[str]:
    """Return the mark and the file of each function of ours that runs, as they are shown."""
    traced = Trace(len(PICTURE))
    sys.setprofile(traced)
    try:
        run()
    finally:
        sys.setprofile(None)
    lines = show(traced.carries, traced.runs)
    return [f"{line[0]} {line[2:].split()[1].partition(':')[0]}" for line in lines]


def test_functions_that_carry_the_picture_come_first() -> None:
    told = trace(lambda: (shorten("a"), from_base64(PICTURE)))
    assert told == ["* imaging/files.py", "  imaging/files.py"]


def test_a_part_of_the_picture_and_an_object_that_holds_it_count() -> None:
    assert trace(lambda: from_base64(PICTURE[:250])) == ["* imaging/files.py"]
    assert trace(lambda: from_base64(PICTURE[:249])) == ["  imaging/files.py"]
    holder = SimpleNamespace(parts=[{"content": PICTURE}])
    assert trace(lambda: shorten(holder)) == ["* imaging/files.py"]  # type: ignore[arg-type]
