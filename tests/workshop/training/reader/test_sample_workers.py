import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import SettingsError
from workshop.rendering.samples.synth import UNKNOWN_CORNERS, Sample, render_sample
from workshop.training.reader.sample_workers import choose_workers, make_batch, make_samples

pytestmark = pytest.mark.server


def process_named(rng: np.random.Generator) -> Sample:
    return Sample(np.zeros((24, 94, 3), np.uint8), str(os.getpid()), UNKNOWN_CORNERS)


def broken(rng: np.random.Generator) -> Sample:
    raise SettingsError("renderer: wanted a plate, got none")


def test_rendered_samples_do_not_depend_on_the_process_that_makes_them() -> None:
    alone, together = (make_batch(render_sample, 18, 5, workers) for workers in (0, 2))
    assert alone.texts == together.texts
    assert np.array_equal(alone.crops, together.crops)
    assert np.array_equal(alone.corners, together.corners, equal_nan=True)


def test_workers_are_processes_of_their_own() -> None:
    batch = make_batch(process_named, 64, 0, workers=2)
    assert len(set(batch.texts)) in {1, 2}  # who is quick takes what the other would have
    assert str(os.getpid()) not in batch.texts


def test_without_workers_this_process_makes_the_samples_when_they_are_asked_for() -> None:
    numbers = count()
    samples = make_samples([(process_named, 0)], ([(0, number)] for number in numbers), 0)
    ((job, sample),) = next(samples)
    assert job == (0, 0)
    assert sample.text == str(os.getpid())
    assert next(numbers) == 1


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sources_error_is_the_callers(workers: int) -> None:
    with pytest.raises(SettingsError, match=r"^renderer: wanted a plate, got none$"):
        make_batch(broken, 3, 0, workers)


def test_closing_ends_the_workers() -> None:
    samples = make_samples([(process_named, 0)], ([(0, number)] for number in count()), 2)
    pids = {int(sample.text) for _ in range(8) for _, sample in next(samples)}
    samples.close()
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


@pytest.mark.parametrize(
    ("cores", "workers"),
    [pytest.param(1, 0), pytest.param(2, 0), pytest.param(4, 2), pytest.param(64, 16)],
)
def test_two_cores_are_left_to_train(
    monkeypatch: pytest.MonkeyPatch, cores: int, workers: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    assert choose_workers(None) == workers
    assert choose_workers(1) == 1


ENDLESS = """
import signal
from itertools import count
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` has Ctrl-C ignored
from workshop.training.reader.sample_workers import make_samples
from tests.workshop.training.reader.test_sample_workers import process_named
made = make_samples([(process_named, 0)], ([(0, n)] for n in count()), 2)
print(*{sample.text for _ in range(8) for _, sample in next(made)}, flush=True)
for _ in made:
    pass
"""


def test_ctrl_c_ends_the_workers_without_a_word_of_theirs() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    pids = process.stdout.readline().split()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers, too
    _, error_output = process.communicate(timeout=30)
    assert error_output.count("KeyboardInterrupt") == 1
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
