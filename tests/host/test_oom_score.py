"""Which process the kernel kills first."""

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.host.oom_score import STEP, raise_score


def score_file(folder: Path, process: str, text: str) -> Path:
    file = folder / process / "oom_score_adj"
    file.parent.mkdir()
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("0\n", STEP, id="usual"),
        pytest.param("-997\n", STEP - 997, id="a-guaranteed-pod"),
        pytest.param("900\n", 1000, id="at-most-1000"),
    ],
)
def test_a_step_is_added_to_what_the_container_has(tmp_path, before: str, after: int) -> None:
    file = score_file(tmp_path, "self", before)
    raise_score(proc=tmp_path)
    assert int(file.read_text()) == after


def test_two_steps_are_below_the_most() -> None:
    """Else Triton, which started from 0, could be killed as soon as a worker."""
    assert 2 * STEP < 1000


def test_another_process_can_be_named(tmp_path) -> None:
    own, other = score_file(tmp_path, "self", "0"), score_file(tmp_path, "42", "0")
    raise_score(42, tmp_path)
    assert (own.read_text(), other.read_text()) == ("0", str(STEP))


def test_a_kernel_without_it_is_left_alone(tmp_path) -> None:
    raise_score(proc=tmp_path)


def test_the_kernel_takes_it() -> None:
    code = "from orchestrator.host.oom_score import raise_score; raise_score()"
    show = "print(open('/proc/self/oom_score_adj').read())"
    before = int(Path("/proc/self/oom_score_adj").read_text())
    said = subprocess.check_output([sys.executable, "-c", f"{code}; {show}"], text=True)
    assert int(said) == min(1000, before + STEP)
