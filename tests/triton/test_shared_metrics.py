"""Workers count in files; the gateway's page has the sums, also of workers that died."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.triton import shared_metrics
from orchestrator.triton.metrics import FAMILIES, VARIABLE
from orchestrator.triton.shared_metrics import RESERVED_BYTES, remove_gauges_of_dead, render
from tests.samples import PROJECT

WORKER = """
import sys
from orchestrator.plates import Plate, Plates
from orchestrator.triton import shared_metrics
from orchestrator.triton.metrics import Metrics, choose_families
from orchestrator.triton.stages import Stopwatch

exec(sys.argv[1])
metrics = Metrics(choose_families(None))
watch = Stopwatch(lambda model, tensors: tensors)
for stage in ("yolo", "stn", "lprnet"):
    watch(stage, {})
watch.finish()
metrics.note_answer(Plates((Plate((10, 5, 90, 25), 0.9, "A123BC77", 0.97),)), watch)
print("counted", flush=True)
sys.stdin.read()
"""


class Workers:
    """Workers of a server that share their metrics."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack

    def start(self, first: str = "") -> subprocess.Popen[str]:
        """Start a worker that counts one picture with one plate, and then waits.

        Args:
            first: Code that it runs before.
        """
        worker = self._stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", WORKER, first],
                env={**os.environ, VARIABLE: str(self.folder)},
                cwd=PROJECT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        self._stack.callback(worker.kill)
        assert worker.stdout is not None
        assert worker.stdout.readline() == "counted\n"
        return worker

    def samples(self) -> dict[str, float]:
        """Return the page's numbers by name and labels."""
        return {
            sample.name + str([*sample.labels.values()]): sample.value
            for family in text_string_to_metric_families(render(self.folder).decode())
            for sample in family.samples
        }


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    with ExitStack() as stack:
        yield Workers(tmp_path, stack)


def test_the_page_has_every_family_with_its_kind(workers: Workers) -> None:
    workers.start()
    page = text_string_to_metric_families(render(workers.folder).decode())
    assert {family.name: family.type.upper() for family in page} == {
        family.name.removesuffix("_total"): family.kind for family in FAMILIES
    }


def test_the_counts_of_all_workers_are_added_up(workers: Workers) -> None:
    workers.start()
    workers.start()
    samples = workers.samples()
    assert samples["plates_pictures_total[]"] == 2
    assert samples["plates_stage_seconds_count['yolo']"] == 2
    assert samples["plates_errors_total['picture']"] == 0
    scores = [samples[f"plates_text_score_bucket['{score}']"] for score in (0.95, 0.98, "+Inf")]
    assert scores == [0, 2, 2]
    assert samples["plates_width_px_sum[]"] == 160


def test_a_worker_goes_on_from_the_counts_of_one_that_died(workers: Workers) -> None:
    dead, _ = workers.start(), workers.start()
    files = {*workers.folder.iterdir()}
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    assert workers.samples()["plates_pictures_total[]"] == 2
    workers.start()
    assert workers.samples()["plates_pictures_total[]"] == 3
    assert {*workers.folder.iterdir()} == files


def test_the_space_of_the_files_is_reserved_before_they_are_written_to(workers: Workers) -> None:
    workers.start()
    files = [*workers.folder.glob("*.db")]
    assert len(files) == 3
    assert {file.stat().st_blocks * 512 >= RESERVED_BYTES for file in files} == {True}
    assert {file.stat().st_size for file in files} == {RESERVED_BYTES}


FULL_DISK = """
import errno, os

def posix_fallocate(descriptor, offset, size):
    raise OSError(errno.ENOSPC, "no space")

os.posix_fallocate = posix_fallocate
"""


def test_a_worker_for_whose_files_there_is_no_space_works_uncounted(workers: Workers) -> None:
    workers.start(FULL_DISK)
    assert workers.samples() == {}
    workers.start()
    assert workers.samples()["plates_pictures_total[]"] == 1


def test_a_full_disk_does_not_harm_the_successor_of_a_worker(workers: Workers) -> None:
    dead = workers.start()
    dead.kill()
    dead.wait()
    workers.start(FULL_DISK)
    assert workers.samples()["plates_pictures_total[]"] == 2


def test_a_worker_whose_folder_is_gone_works_uncounted(workers: Workers) -> None:
    workers.folder.rmdir()
    workers.start()
    assert workers.samples() == {}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: b"", id="empty"),
        pytest.param(lambda content: content[:1000], id="truncated"),
        pytest.param(lambda content: content[:8] + bytes([255] * 65000), id="overwritten"),
    ],
)
def test_a_damaged_file_is_replaced_by_the_next_worker(
    workers: Workers, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    dead = workers.start()
    dead.kill()
    dead.wait()
    (counters,) = workers.folder.glob("counter_*.db")
    counters.write_bytes(damage(counters.read_bytes()))
    assert workers.samples() == {}
    assert "the metrics cannot be read" in caplog.text
    workers.start()
    assert workers.samples()["plates_pictures_total[]"] == 1


GROWING = """
import os
from pathlib import Path
from prometheus_client import Counter
from orchestrator.triton.shared_metrics import VARIABLE, remove_gauges_of_dead, use

use(Path(os.environ[VARIABLE]))
calls = Counter("calls", "Calls.", ["key"], registry=None)
"""


def count(folder: Path, code: str) -> None:
    """Run a process that counts."""
    subprocess.run(
        [sys.executable, "-c", GROWING + code],
        env=os.environ | {shared_metrics.VARIABLE: str(folder)},
        cwd=PROJECT,
        check=True,
    )


MANY_LABELS = "[calls.labels(f'key {number}').inc() for number in range(2000)]"


def test_a_file_that_grows_has_its_space_reserved(tmp_path: Path) -> None:
    count(tmp_path, MANY_LABELS)
    (file,) = tmp_path.glob("*.db")
    assert file.stat().st_blocks * 512 >= file.stat().st_size > RESERVED_BYTES
    assert render(tmp_path).count(b"\ncalls_total{") == 2000


def test_labels_for_which_there_is_no_space_are_not_counted(tmp_path: Path) -> None:
    count(tmp_path, f"calls.labels('first').inc(){FULL_DISK}{MANY_LABELS}")
    (file,) = tmp_path.glob("*.db")
    assert file.stat().st_size == RESERVED_BYTES
    assert b'calls_total{key="first"} 1.0' in render(tmp_path)


def test_gauges_of_dead_processes_are_removed_alone(tmp_path: Path) -> None:
    live_gauge = "from prometheus_client import Gauge\n" + (
        "Gauge('inside', 'Calls.', registry=None, multiprocess_mode='livesum').set(3)\n"
    )
    count(tmp_path, f"calls.labels('first').inc()\n{live_gauge}")
    assert b"\ninside 3.0\n" in render(tmp_path)
    remove_gauges_of_dead(tmp_path)
    assert b"\ninside" not in render(tmp_path)
    assert b'calls_total{key="first"} 1.0' in render(tmp_path)
    count(tmp_path, f"{live_gauge}remove_gauges_of_dead(Path(os.environ[VARIABLE]))")
    assert b"\ninside 3.0\n" in render(tmp_path)


def test_a_folder_with_the_signs_of_a_pattern_has_a_page(tmp_path: Path) -> None:
    folder = tmp_path / "a[1]*"
    folder.mkdir()
    count(folder, "calls.labels('first').inc()")
    assert b'calls_total{key="first"} 1.0' in render(folder)


def test_a_folder_that_somebody_removed_has_no_page(tmp_path: Path) -> None:
    assert render(tmp_path / "gone") == b""
