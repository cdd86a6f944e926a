"""Workers count in files; the gateway's page has the sums, also of workers that died."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.triton import shared_metrics
from orchestrator.triton.metrics import FAMILIES, VARIABLE
from orchestrator.triton.shared_metrics import RESERVED_BYTES, render
from tests.samples import PROJECT

WORKER = """
import sys
from orchestrator.plates import Plate, Plates
from orchestrator.triton.metrics import Metrics, choose_families
from orchestrator.triton.stages import Stopwatch

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

    def start(self) -> subprocess.Popen[str]:
        """Start a worker that counts one picture with one plate, and then waits."""
        worker = self._stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", WORKER],
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
    assert {file.name.partition("_worker")[0] for file in files} == {*shared_metrics.KINDS}
    assert {file.stat().st_blocks * 512 >= RESERVED_BYTES for file in files} == {True}
    assert {file.stat().st_size for file in files} == {RESERVED_BYTES}


def test_a_folder_that_somebody_removed_has_no_page(tmp_path: Path) -> None:
    assert render(tmp_path / "gone") == b""
