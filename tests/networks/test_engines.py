"""The choice of the engine for the networks, and equal answers of all engines."""

import platform
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import openvino
import pytest
import torch

from orchestrator import read_picture, recognize
from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import russian
from orchestrator.networks import engines, openvino_ir, quantized
from orchestrator.networks.engines import Engine, choose
from orchestrator.networks.export import load_networks, represent
from orchestrator.networks.weights import list_sums
from tests.samples import STREET, TEXTS, copy_of

GiveCpu = Callable[..., None]


@pytest.fixture
def give_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GiveCpu:
    """Replaces the CPU by one of these flags, in a machine of any architecture."""

    def give(flags: str, machine: str = "x86_64") -> None:
        (tmp_path / "cpuinfo").write_text(f"model name\t: a CPU\nflags\t\t: fpu {flags}\n")
        monkeypatch.setattr(engines, "CPU_INFO", tmp_path / "cpuinfo")
        monkeypatch.setattr(platform, "machine", lambda: machine)

    return give


@pytest.mark.parametrize(
    ("flags", "engine"),
    [
        ("avx2 avx512_vnni", Engine.OPENVINO_INT8),
        ("avx2 avx_vnni", Engine.OPENVINO_INT8),
        ("avx2 avx512f", Engine.OPENVINO),
    ],
)
def test_integers_are_for_cpus_that_multiply_them(flags, engine, give_cpu: GiveCpu) -> None:
    give_cpu(flags)
    assert choose(Engine.AUTO, on_gpu=False) is engine


@pytest.mark.parametrize("machine", ["aarch64", "riscv64"])
def test_flags_of_x86_say_nothing_of_another_processor(machine: str, give_cpu: GiveCpu) -> None:
    """An emulated machine shows the flags of the one below it."""
    give_cpu("avx2 avx_vnni avx512_bf16", machine)
    choice = engines.explain(Engine.AUTO, on_gpu=False)
    assert choice.engine is Engine.OPENVINO
    assert choice.reason == f"8-bit integers are for x86-64, and this is {machine}"
    assert not engines.has_bfloat16()


@pytest.mark.parametrize(
    ("engine", "on_gpu", "reason"),
    [
        (Engine.AUTO, True, "there is a GPU"),
        (Engine.AUTO, False, "the CPU has avx_vnni: fast 8-bit integers"),
        (Engine.OPENVINO, False, "it was asked for"),
    ],
)
def test_a_choice_has_its_reason(engine, on_gpu, reason, give_cpu: GiveCpu) -> None:
    give_cpu("avx2 avx_vnni")
    choice = engines.explain(engine, on_gpu=on_gpu)
    assert choice.reason == reason
    assert choice.engine is choose(engine, on_gpu=on_gpu)


def test_a_cpu_that_says_nothing_gets_floats(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(engines, "CPU_INFO", tmp_path / "none")
    assert choose(Engine.AUTO, on_gpu=False) is Engine.OPENVINO


@pytest.mark.parametrize(
    ("flags", "has"), [("avx512_bf16", True), ("amx_bf16", True), ("avx512_vnni", False)]
)
def test_bfloat16_is_for_cpus_that_multiply_it(flags, has, give_cpu: GiveCpu) -> None:
    give_cpu(flags)
    assert engines.has_bfloat16() is has


@pytest.mark.parametrize(("machine", "is_kept"), [("x86_64", True), ("aarch64", False)])
def test_prepared_steps_are_kept_on_x86_alone(machine, is_kept, give_cpu: GiveCpu) -> None:
    """Kept ones answered with wrong numbers on ARM64: no plate was found, and none was read."""
    numbers = openvino.opset13.parameter([-1], np.float32)
    give_cpu("avx2", machine)
    options = openvino_ir.choose_options(openvino.Model([numbers], [numbers]), 1)
    assert ("CPU_RUNTIME_CACHE_CAPACITY" in options) is is_kept


def precision_of(model: openvino.Model | Path, monkeypatch, *, has_bfloat16: bool) -> object:
    """Return the precision of a network that is compiled for a CPU with or without bfloat16."""
    precisions = []

    def note(core: object, model: object, device: str, options: dict[str, object]) -> object:
        precisions.append(options["INFERENCE_PRECISION_HINT"])
        return SimpleNamespace(export_model=lambda file: None)

    monkeypatch.setattr(openvino_ir, "has_bfloat16", lambda: has_bfloat16)
    with monkeypatch.context() as patch:
        patch.setattr(openvino.Core, "compile_model", note)
        patch.setattr(openvino.Core, "import_model", note)
        openvino_ir.Compiled(model, threads=2)
    (precision,) = {*precisions}
    return precision


@pytest.mark.parametrize(
    ("name", "engine", "precision"),
    [
        ("lprnet", Engine.OPENVINO_INT8, "bf16"),
        ("lprnet", Engine.OPENVINO, "f32"),
        ("stn", Engine.OPENVINO_INT8, "f32"),
        ("yolo", Engine.OPENVINO_INT8, "f32"),
    ],
)
def test_only_the_reader_runs_in_bfloat16(name, engine, precision, tmp_path, monkeypatch) -> None:
    model = represent(name, engine=engine)
    assert precision_of(model, monkeypatch, has_bfloat16=True) == precision
    assert precision_of(model, monkeypatch, has_bfloat16=False) == "f32"
    openvino_ir.save(model, tmp_path / "model.xml")
    assert precision_of(tmp_path / "model.xml", monkeypatch, has_bfloat16=True) == precision


def test_a_gpu_gets_float16_and_what_is_asked_for_is_kept() -> None:
    assert choose(Engine.AUTO, on_gpu=True) is Engine.TORCHSCRIPT_FP16
    assert choose(Engine.OPENVINO, on_gpu=True) is Engine.OPENVINO


@pytest.mark.parametrize("engine", [engine for engine in Engine if engine is not Engine.AUTO])
def test_every_engine_reads_the_street(engine: Engine) -> None:
    networks = load_networks(engine=engine)
    assert set(recognize(read_picture(STREET), networks).texts) == set(TEXTS)
    assert networks.formats == russian()


class TestQuantized:
    @pytest.fixture
    def weights(self, tmp_path) -> Path:
        return copy_of("weights", tmp_path)

    @pytest.mark.parametrize("name", ["yolo", "lprnet"])
    def test_the_shipped_ones_belong_to_the_shipped_weights(self, name: str) -> None:
        model = quantized.read(name)
        kinds = {operation.get_type_name() for operation in model.get_ordered_ops()}
        assert "FakeQuantize" in kinds

    def test_a_network_without_one_stays_in_floats(self) -> None:
        assert quantized.read("stn") is None

    def test_other_weights_are_served_in_floats_with_a_warning(self, weights, caplog) -> None:
        state = torch.load(weights / "yolo.pt", weights_only=True)
        state["model.24.m.0.bias"] += 0.25
        torch.save(state, weights / "yolo.pt")
        list_sums(weights)
        assert quantized.read("yolo", weights) is None
        assert "made from other weights than yolo.pt" in caplog.text

    def test_a_damaged_file_is_refused(self, weights) -> None:
        with (weights / "yolo.int8.bin").open("ab") as file:
            file.write(b"!")
        with pytest.raises(WeightsError, match=r"yolo\.int8\.bin: wanted SHA-256"):
            quantized.read("yolo", weights)
