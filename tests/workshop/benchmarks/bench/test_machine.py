"""The instructions and engines of made-up CPUs; one look at this machine's own networks."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.networks import engines
from orchestrator.networks.engines import Choice, Engine
from orchestrator.networks.weights import WEIGHTS
from workshop.benchmarks.bench.machine import (
    NetworkFacts,
    find_choices,
    format_instructions,
    format_networks,
)

pytestmark = pytest.mark.server

INT8 = Choice(Engine.OPENVINO_INT8, "the CPU has avx512_vnni: fast 8-bit integers")


def facts(name: str = "yolo", **kernels: float) -> list[NetworkFacts]:
    return [NetworkFacts(name, INT8, kernels)]


def used_by(text: str) -> dict[str, str]:
    """Return who uses each of the instructions, from the table of a CPU that has all of them."""
    lines = text.splitlines()
    column = lines[0].index("used by")
    return {line.split("  ")[0]: line[column:].strip() for line in lines[1:]}


ALL = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")


@pytest.mark.parametrize(
    ("kernel", "users"),
    [
        pytest.param("brgconv_avx512_1x1_I8", {"AVX-512", "VNNI"}, id="vnni"),
        pytest.param("brgconv_avx512_f32", {"AVX-512"}, id="floats"),
        pytest.param("brgconv_avx512_bf16", {"AVX-512", "bfloat16"}, id="bfloat16"),
        pytest.param("brgconv_avx512_amx_I8", {"AVX-512", "VNNI", "AMX"}, id="amx"),
        pytest.param("jit_avx2_f32", {"AVX2"}, id="avx2"),
        pytest.param("jit_avx2_I8", {"AVX2", "VNNI"}, id="avx-vnni"),
        pytest.param("jit_uni_I8", set(), id="any"),
        pytest.param("ref_bf16", set(), id="reference"),
        pytest.param("pytorch_avx512_f32", {"AVX-512"}, id="pytorch"),
    ],
)
def test_the_name_of_a_kernel_tells_its_instructions(kernel: str, users: set[str]) -> None:
    text = format_instructions(ALL, facts(**{kernel: 1.0}))
    assert {name for name, cell in used_by(text).items() if cell == "yolo 100 %"} == users


def test_instructions_that_the_cpu_lacks_are_used_by_nothing() -> None:
    text = format_instructions(["avx2", "avx512f"], facts(brgconv_avx512_I8=1.0))
    line = next(one for one in text.splitlines() if one.startswith("VNNI"))
    assert line.split() == ["VNNI", "no", "nothing"]


def test_the_slowest_kernels_stand_beside_engine_and_reason() -> None:
    text = format_networks(facts(first=0.5, second=0.3, third=0.15, fourth=0.05))
    assert "openvino-int8" in text
    assert INT8.reason in text
    assert text.endswith("first 50 %, second 30 %, third 15 %")


def write_flags(folder: Path, flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "cpuinfo").write_text(f"flags\t\t: fpu {flags}\n")
    monkeypatch.setattr(engines, "CPU_INFO", folder / "cpuinfo")


def test_a_network_without_an_8_bit_form_says_so(tmp_path, monkeypatch) -> None:
    write_flags(tmp_path, "avx512_vnni", monkeypatch)
    choices = find_choices(Engine.AUTO, WEIGHTS, on_gpu=False)
    assert choices["yolo"] == choices["lprnet"] == INT8
    assert choices["stn"] == Choice(Engine.OPENVINO, "no 8-bit form of these weights")


def test_the_command_tells_this_machine_without_a_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workshop.benchmarks.bench.machine.RUNS", 1)
    monkeypatch.setattr("workshop.benchmarks.bench.machine.CANDIDATES", (Engine.TORCHSCRIPT,))
    shown = CliRunner().invoke(app, ["bench", "--machine", "--threads", "1"])
    assert shown.exit_code == 0, shown.output
    assert "threads of one inference: 1" in shown.output
    for word in ("AMX", "yolo", "stn", "lprnet", "torchscript"):
        assert word in shown.output
