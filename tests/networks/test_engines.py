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
from orchestrator.networks.export import load, load_networks, represent, write_network
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


@pytest.mark.parametrize("name", ["stn", "lprnet"])
def test_a_file_of_openvino_answers_like_the_network_whatever_the_batch(name, tmp_path) -> None:
    write_network(name, tmp_path / "1" / "model.xml", engine=Engine.OPENVINO)
    network, compiled = load(name), openvino_ir.Compiled(tmp_path / "1" / "model.xml")
    for rows in (1, 3):
        crops = torch.rand(rows, 3, 24, 94, generator=torch.Generator().manual_seed(rows)) * 2 - 1
        references = network(crops)
        references = references if isinstance(references, tuple) else (references,)
        for actual, reference in zip(compiled(crops.numpy()), references, strict=True):
            np.testing.assert_allclose(actual, reference.detach().numpy(), atol=2e-3)


@pytest.fixture(scope="module")
def detector_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("yolo") / "model.xml"
    openvino_ir.save(represent("yolo"), path)
    return path


@pytest.fixture(scope="module")
def detectors(detector_file: Path) -> tuple[torch.nn.Module, openvino_ir.Compiled]:
    """Return the network and its compiled form for one thread."""
    return load("yolo"), openvino_ir.Compiled(detector_file)


@pytest.mark.parametrize("size_hw", [(32, 32), (96, 160), (320, 96)])
@torch.inference_mode()
def test_openvino_detects_like_the_network_at_every_size(detectors, size_hw) -> None:
    network, compiled = detectors
    noise = np.random.default_rng(3).integers(0, 256, (2, *size_hw, 3), dtype=np.uint8)
    (actual,), reference = compiled(noise), network(torch.from_numpy(noise)).numpy()
    assert actual.shape == (2, 300, 6)
    np.testing.assert_allclose(actual[..., 4], reference[..., 4], atol=1e-4)


def test_pictures_of_sizes_that_the_detector_cannot_take_are_refused(
    detectors, detector_file: Path
) -> None:
    """With one thread, OpenVINO gives meaningless numbers for them."""
    for compiled in (detectors[1], openvino_ir.Compiled(detector_file, threads=2)):
        for size_hw in ((50, 70), (32, 70), (208, 640), (640, 350)):
            with pytest.raises(ValueError, match=r"^wanted height and width in multiples of 32$"):
                compiled(np.zeros((1, *size_hw, 3), np.uint8))
        assert compiled(np.zeros((1, 64, 96, 3), np.uint8))[0].shape == (1, 300, 6)


@torch.inference_mode()
def test_small_and_large_pictures_in_turn_are_answered_like_alone(detectors) -> None:
    network, compiled = detectors
    rng = np.random.default_rng(4)
    sizes = [(192, 320), (192, 352), (96, 128)] * 2
    pictures = [rng.integers(0, 256, (1, *size_hw, 3), dtype=np.uint8) for size_hw in sizes]
    for picture in pictures:
        (actual,), reference = compiled(picture), network(torch.from_numpy(picture)).numpy()
        np.testing.assert_allclose(actual[..., 4], reference[..., 4], atol=1e-4)


@pytest.mark.parametrize("name", ["stn", "lprnet"])
def test_one_thread_and_all_threads_answer_alike(name: str) -> None:
    answers = []

    def is_busy() -> bool:
        answers.append(len(answers) % 2 == 1)
        return answers[-1]

    compiled = openvino_ir.Compiled(represent(name), threads=2, is_busy=is_busy)
    crops = np.random.default_rng(5).uniform(-1, 1, (3, 3, 24, 94)).astype(np.float32)
    of_all, of_one = compiled(crops), compiled(crops)
    assert answers == [False, True]
    for alone, busy in zip(of_all, of_one, strict=True):
        np.testing.assert_allclose(busy, alone, atol=1e-5)


def test_the_threads_follow_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test programs distinguish the two copies by the core's record of them, not by answers."""
    threads = []
    compiled = openvino_ir.Compiled(represent("stn"), threads=2, is_busy=lambda: bool(threads))
    ask = compiled._request

    def note(copy: openvino.CompiledModel) -> openvino.InferRequest:
        threads.append(copy.get_property("INFERENCE_NUM_THREADS"))
        return ask(copy)

    monkeypatch.setattr(compiled, "_request", note)
    crops = np.zeros((1, 3, 24, 94), np.float32)
    compiled(crops)
    compiled(crops)
    assert threads == [2, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_one_thread_has_a_copy_for_the_frequent_size(
    detector_file: Path, threads: int, monkeypatch
) -> None:
    """The core's record of their inputs tells the copies apart; their answers are equal."""
    compiled = openvino_ir.Compiled(detector_file, threads=threads, is_busy=lambda: True)
    are_static, ask = [], compiled._request

    def note(copy: openvino.CompiledModel) -> openvino.InferRequest:
        are_static.append(copy.inputs[0].partial_shape.is_static)
        return ask(copy)

    monkeypatch.setattr(compiled, "_request", note)
    monkeypatch.setattr(openvino_ir, "CALLS", 4)
    picture = np.random.default_rng(6).integers(0, 256, (1, 224, 320, 3), dtype=np.uint8)
    other_pictures = [np.zeros(shape, np.uint8) for shape in ((1, 320, 224, 3), (1, 96, 128, 3))]
    (first_answer,) = compiled(picture)
    for _ in range(openvino_ir.CALLS - 1):
        compiled(picture)
    compiled.frequent.join()
    (last_answer,) = compiled(picture)
    assert not any(are_static[:-1])
    assert are_static[-1]
    np.testing.assert_array_equal(last_answer, first_answer)
    for other_picture in other_pictures:
        compiled(other_picture)
    assert are_static[-2:] == [False, False]


def test_inputs_that_are_no_pictures_are_answered() -> None:
    numbers = openvino.opset13.parameter([-1], np.float32)
    model = openvino.Model([openvino.opset13.multiply(numbers, np.float32(2))], [numbers])
    (answer,) = openvino_ir.Compiled(model)(np.array([1, 2, 3], np.float32))
    assert answer.tolist() == [2, 4, 6]


def test_many_threads_may_ask_at_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    compiled = openvino_ir.Compiled(represent("stn"), threads=2)
    crops = [np.full((1, 3, 24, 94), value / 10, np.float32) for value in range(10)]
    alone = [compiled(crop)[1] for crop in crops]
    with ThreadPoolExecutor(5) as pool:
        together = [answer[1] for answer in pool.map(compiled, crops * 4)]
    for index, theta in enumerate(together):
        np.testing.assert_allclose(theta, alone[index % 10], atol=1e-5)


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
