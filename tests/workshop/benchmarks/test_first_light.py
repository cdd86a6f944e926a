"""Steps that fail or find something wrong, and the page that tells of them."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from types import SimpleNamespace

import numpy as np
import pytest

from workshop.benchmarks.faults.report import Counts
from workshop.benchmarks.faults.report import Row as Fault
from workshop.benchmarks.first_light import __main__ as first_light
from workshop.benchmarks.first_light import decoding_step, server_steps
from workshop.benchmarks.first_light.__main__ import write_page
from workshop.benchmarks.first_light.decoding_step import draw_files
from workshop.benchmarks.first_light.server_steps import NVIDIA_SMI, report, watch_gpu_memory
from workshop.benchmarks.first_light.steps import REHEARSAL, StepResult
from workshop.benchmarks.service import wait

RIGHT = StepResult("The machine", ("what", "value"), (("GPU", "none"),))


def test_a_page_tells_of_what_is_wrong_and_of_steps_that_failed(tmp_path: Path) -> None:
    wrong = StepResult("Answers", ("what",), (), ("wanted 0 differences, got 3",))
    assert not write_page({"machine": RIGHT, "answers": wrong}, ["decoding"], tmp_path)
    page = (tmp_path / "page.md").read_text()
    assert "- answers: wanted 0 differences, got 3" in page
    assert "- decoding: the step failed" in page
    assert write_page({"machine": RIGHT}, [], tmp_path)


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(CompletedProcess([], -11), id="crash"),
        pytest.param(TimeoutExpired("python", 1), id="too long"),
    ],
)
def test_a_step_that_ends_early_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: object
) -> None:
    def run(*_: object, **__: object) -> object:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(first_light, "subprocess", SimpleNamespace(
        run=run, TimeoutExpired=TimeoutExpired
    ))  # fmt: skip
    assert not first_light._run_step("machine", tmp_path, ["--rehearse"], again=False)
    (tmp_path / "machine.json").touch()
    assert first_light._run_step("machine", tmp_path, ["--rehearse"], again=False)
    assert not first_light._run_step("machine", tmp_path, ["--rehearse"], again=True)


def test_faults_are_rows_and_what_broke_a_promise_is_wrong() -> None:
    counts = Counts(sent=9, answered=7, refused={"503": 1}, lost=1, longest_s=2.0)
    kept_fault = Fault("a wrong access", counts=counts, recover_s=4.0, notes=("a note", "another"))
    result = report([kept_fault, Fault("no memory", broken=("did not recover",))])
    assert result.rows[0] == (
        "a wrong access", "9", "7", "1", "1", "0", "2.00", "4.00", "a note; another"
    )  # fmt: skip
    assert result.rows[1][7] == "not seen"
    assert result.wrong == ("no memory: did not recover",)
    assert result.figures == {"a wrong access, recovered, s": 4.0}


@pytest.fixture(scope="module", autouse=True)
def _render_once() -> Iterator[None]:
    """Render the street of all files once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding_step, "render", cache(decoding_step.render))
        yield


class GreyDecoder:
    """Stands for nvImageCodec: grey everywhere, and it takes files that are cut off, too."""

    def __init__(self, gpu: int | None) -> None:
        self.gpu = gpu

    def decode(self, file_bytes: bytes, _: object) -> np.ndarray:
        return np.full((481, 641, 3), 128, np.uint8)


def test_pixels_that_are_not_opencvs_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding_step, "JpegDecoder", GreyDecoder)
    result = decoding_step.compare_decoding(REHEARSAL)
    assert len(result.wrong) == len(draw_files())
    rejected = next(row for row in result.rows if row[0] == "cut off")
    assert rejected[1:] == ("rejected", "641x481", "")


def test_nvimagecodec_has_opencvs_pixels_and_its_time_is_measured() -> None:
    result = decoding_step.compare_decoding(REHEARSAL)
    rows = {row[0]: row[1:] for row in result.rows}
    assert (rows["progressive"], result.wrong) == (("641x481", "641x481", "0.00"), ())
    assert rows["four components"] == ("641x481", "left to OpenCV", "")
    assert [*result.figures] == ["1280x960, OpenCV, ms", "1280x960, nvImageCodec, ms"]


SMI = """#!/bin/sh
echo "$@" >> "$FOLDER/asked"
case $(wc -l < "$FOLDER/asked") in 1) echo 300;; 2) echo 5000;; *) echo 700;; esac
"""
FAILING = "#!/bin/sh\necho asked >> $FOLDER/asked; echo 'No devices were found'; exit 6\n"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def write(script: str) -> Path:
        (tmp_path / NVIDIA_SMI).write_text(script)
        (tmp_path / NVIDIA_SMI).chmod(0o755)
        return tmp_path / "asked"

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("FOLDER", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    monkeypatch.setattr(server_steps, "LOOK_S", 0.01)
    return write


def test_the_peak_of_the_server_s_gpu_stays(install) -> None:
    arguments_file = install(SMI)
    with watch_gpu_memory() as memory:
        wait(
            lambda: arguments_file.exists() and len(arguments_file.read_text().splitlines()) >= 4,
            "looks",
            20.0,
        )
    assert memory.peak_mib == 5000
    assert arguments_file.read_text().splitlines()[0].startswith("--id=2 --query-gpu=memory.used ")


def test_a_program_that_finds_no_gpu_tells_no_memory(install) -> None:
    arguments_file = install(FAILING)
    with watch_gpu_memory() as memory:
        wait(arguments_file.exists, "a look", 20.0)
    assert memory.peak_mib is None


def test_without_the_program_there_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with watch_gpu_memory() as memory:
        pass
    assert memory.peak_mib is None
