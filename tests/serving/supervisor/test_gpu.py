"""The search for a usable GPU, with made-up devices and results of their first use."""

import logging
import re
from pathlib import Path

import pytest

from orchestrator.serving.supervisor import gpu
from orchestrator.serving.supervisor.gpu import choose_gpu, explain_no_gpu, has_gpu
from orchestrator.serving.supervisor.installation import find_installation
from orchestrator.serving.supervisor.launch.command import command, environment
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.server_folder import ServerFolder


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of devices of a machine with PyTorch for GPUs; it is empty."""
    monkeypatch.setattr(gpu, "DEVICES", tmp_path)
    monkeypatch.setattr(gpu.metadata, "version", lambda _: "2.13.0+cu130")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "nvidiactl").touch()
    gpu._warn.cache_clear()
    return tmp_path


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        pytest.param("pass", "", id="used"),
        pytest.param("raise RuntimeError('driver too old')", "driver too old", id="error"),
        pytest.param("import os; os._exit(3)", "exit status 3", id="no message"),
        pytest.param("import os; os.kill(os.getpid(), 11)", "exit status -11", id="crash"),
    ],
)
def test_the_first_use_tells_why_there_is_no_gpu(code: str, reason: str) -> None:
    explanation = explain_no_gpu(code)
    assert reason in explanation
    assert bool(explanation) == bool(reason)


def test_this_machine_without_a_gpu_says_so() -> None:
    assert re.search("libcuda|NVIDIA|CUDA", explain_no_gpu())


@pytest.mark.parametrize(
    ("devices", "reason", "is_usable"),
    [
        pytest.param(["nvidia0"], "", True, id="one"),
        pytest.param([], "", False, id="none"),
        pytest.param(["nvidia0"], "the driver is too old", False, id="old driver"),
    ],
)
def test_a_gpu_counts_when_it_can_be_used(
    machine: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    devices: list[str],
    reason: str,
    is_usable: bool,
) -> None:
    monkeypatch.setattr(gpu, "explain_no_gpu", lambda: reason)
    for name in devices:
        (machine / name).touch()
    assert has_gpu() is is_usable
    assert ServerOptions().on_gpu() is is_usable
    assert reason in caplog.text
    assert len(caplog.records) == bool(reason)


def test_a_hidden_gpu_is_none(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine / "nvidia0").touch()
    monkeypatch.setattr(gpu, "explain_no_gpu", str)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert not has_gpu()


def test_of_several_gpus_a_server_uses_the_first(
    machine: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (machine / "nvidia0").touch()
    assert choose_gpu({}) == {}
    (machine / "nvidia1").touch()
    with caplog.at_level(logging.WARNING):
        assert choose_gpu({}) == {"CUDA_VISIBLE_DEVICES": "0"}
    assert "several GPUs" in caplog.text
    assert choose_gpu({"CUDA_VISIBLE_DEVICES": "1"}) == {}


@pytest.mark.parametrize(
    ("options", "pools"),
    [
        pytest.param(ServerOptions(device="cpu"), [], id="cpu"),
        pytest.param(ServerOptions(device="gpu", pictures=4), [256 * 2**20], id="gpu"),
        pytest.param(ServerOptions(device="gpu", pictures=24), [384 * 2**20], id="many pictures"),
    ],
)
def test_triton_keeps_memory_of_a_gpu_for_tensors(options: ServerOptions, pools: list[int]) -> None:
    line = command(options, find_installation(), (), Path(), "plates_1")
    name = "--cuda-memory-pool-byte-size=0:"
    assert [int(flag.removeprefix(name)) for flag in line if flag.startswith(name)] == pools


def test_a_server_of_a_gpu_gets_as_many_pictures_and_threads_as_asked_for() -> None:
    fits = ServerOptions(device="gpu", pictures=7, threads=3, instances=2).capacity()
    assert (fits.on_gpu, fits.pictures, fits.instances, fits.threads) == (True, 7, 2, 3)
    assert ServerOptions(device="gpu", pictures_on_gpu=True).capacity().pictures_on_gpu
    folder = ServerFolder.make()
    try:
        variables = environment(ServerOptions(device="gpu", threads=3), find_installation(), folder)
    finally:
        folder.remove()
    assert variables["OMP_NUM_THREADS"] == "3"
