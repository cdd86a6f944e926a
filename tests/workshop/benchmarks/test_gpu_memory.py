"""The memory of a GPU, with a stand-in for NVIDIA's program."""

from pathlib import Path

import pytest

from workshop.benchmarks.first_light import server_steps
from workshop.benchmarks.first_light.server_steps import NVIDIA_SMI, watch_gpu_memory
from workshop.benchmarks.service import wait

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
    asked = install(SMI)
    with watch_gpu_memory() as memory:
        wait(lambda: asked.exists() and len(asked.read_text().splitlines()) >= 4, "looks", 20.0)
    assert memory.peak_mib == 5000
    assert asked.read_text().splitlines()[0].startswith("--id=2 --query-gpu=memory.used ")


def test_a_program_that_finds_no_gpu_tells_no_memory(install) -> None:
    asked = install(FAILING)
    with watch_gpu_memory() as memory:
        wait(asked.exists, "a look", 20.0)
    assert memory.peak_mib is None


def test_without_the_program_there_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with watch_gpu_memory() as memory:
        pass
    assert memory.peak_mib is None
