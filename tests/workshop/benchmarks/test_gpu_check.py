"""Comparisons of the GPU check, on made-up answers and placements."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from orchestrator.networks.export import load, script
from orchestrator.plates import Plate, Plates
from orchestrator.triton.placement import Placement, parse
from workshop.benchmarks import gpu_check
from workshop.benchmarks.gpu_check import FLOOR, differ, find_astray, find_slow
from workshop.benchmarks.pictures import render

CAR = Plate((10.0, 20.0, 110.0, 45.0), 0.9, text="A123BC77", text_score=0.8)
BUS = Plate((300.0, 20.0, 400.0, 45.0), 0.7, text="", raw_text="O0", text_score=0.3)


def test_the_order_is_free_and_a_little_is_nothing() -> None:
    moved = replace(CAR, xyxy=(10.9, 20.0, 110.0, 44.2), detection_score=0.885, text_score=0.81)
    assert differ(Plates((CAR, BUS)), Plates((BUS, moved))) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": "A123BC17"}, "A123BC77: wanted the text 'A123BC77', got 'A123BC17'"),
        ({"xyxy": (10.0, 22.5, 110.0, 45.0)}, "A123BC77: wanted the box within 1 px, got 2.50 px"),
        ({"detection_score": 0.85}, "A123BC77: wanted the detection_score within 0.02, got 0.050"),
        ({"text_score": 0.75}, "A123BC77: wanted the text_score within 0.02, got 0.050"),
    ],
)
def test_each_difference_of_two_answers_is_named(changes: dict, message: str) -> None:
    compared_plates = Plates((BUS, replace(CAR, **changes)))
    assert differ(Plates((CAR, BUS)), compared_plates) == [message]


def test_a_plate_too_few_is_a_difference() -> None:
    assert differ(Plates((CAR, BUS)), Plates((CAR,))) == ["plates: wanted 2, got 1"]


LOG = [
    "I1121 tritonserver says something\n",
    "placement yolo caller input__0 cuda:0\n",
    "placement yolo worker input__0 cpu\n",
    "placement yolo caller output__0 cpu\n",
    "a replacement yolo caller input__0 cpu\n",
    "placement stn worker output__0 cpu\n",
    "placement stn worker output__1 cpu\n",
]


def test_inputs_and_straightened_crops_must_be_on_the_gpu() -> None:
    assert find_astray(parse(LOG)) == [
        Placement("yolo", "worker", "input__0", "cpu"),
        Placement("stn", "worker", "output__0", "cpu"),
    ]


def test_without_a_gpu_it_says_so(monkeypatch, capsys) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_check.main() == 2
    assert capsys.readouterr().err == "gpu-check: wanted an NVIDIA GPU, got none\n"


@pytest.mark.parametrize(
    "name",
    ["yolo", "stn", "lprnet"],
)
def test_no_exported_network_is_tied_to_the_device_it_was_exported_on(name: str) -> None:
    graph = script(load(name)).inlined_graph
    outputs = [constant.output() for constant in graph.findAllNodes("prim::Constant")]
    assert [output for output in outputs if str(output.type()) == "Device" and output.uses()] == []


@pytest.mark.parametrize(
    ("throughputs", "is_slow"),
    [
        pytest.param([], True, id="none"),
        pytest.param([40.0, FLOOR - 1], True, id="all too slow"),
        pytest.param([40.0, FLOOR], False, id="one is fast"),
    ],
)
def test_the_best_throughput_has_a_floor(throughputs: list[float], is_slow: bool) -> None:
    assert bool(find_slow(throughputs)) is is_slow


@pytest.mark.parametrize(("url", "options"), [("gate:8000", {"--url=gate:8000"})])
@pytest.mark.parametrize(
    ("differences", "throughput", "status"),
    [([], FLOOR, 0), (["crop: wanted the text"], FLOOR, 1), ([], FLOOR - 1, 1)],
)
def test_a_running_server_is_compared_and_measured(
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    options: set[str],
    differences: list[str],
    throughput: float,
    status: int,
) -> None:
    lines: list[list[str]] = []

    def run(line: list[str], **_: object) -> SimpleNamespace:
        lines.append(line)
        return SimpleNamespace(returncode=0)

    cell = SimpleNamespace(load=SimpleNamespace(throughput=throughput))
    monkeypatch.setattr(gpu_check, "check_address", lambda _: differences)
    monkeypatch.setattr(gpu_check, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr(gpu_check, "read_report", lambda *_: SimpleNamespace(cells=[cell]))
    assert gpu_check.main(url) == status
    assert options < {*lines[0]}


class CarClient:
    """Stands for a client of a server that finds the car in a file, and nothing otherwise."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __enter__(self) -> "CarClient":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def recognize_many(self, pictures: list[object]) -> list[SimpleNamespace]:
        return [SimpleNamespace(plates=Plates(())) for _ in pictures]

    def read_crops(self, crops: list[bytes]) -> list[Plate]:
        return []

    def recognize(self, file: bytes) -> Plates:
        return Plates((CAR,))


def test_answers_of_a_running_server_are_compared_by_their_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected_plates = [Plates((CAR,)), Plates(()), Plates((CAR,))]  # pixels, crop, file
    monkeypatch.setattr(gpu_check, "PlateClient", CarClient)
    monkeypatch.setattr(gpu_check, "recognize_on", lambda *_, **__: (expected_plates, []))
    differences = gpu_check.check_address("gate:8000", [render(1)])
    assert differences == ["1 plate, pixels: plates: wanted 1, got 0"]
