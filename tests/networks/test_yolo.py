"""The detector: outputs of the published network, loaded from a safe file."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from orchestrator.imaging.decoding import read_picture
from orchestrator.networks.weights import WEIGHTS
from orchestrator.networks.yolo import Detect, Yolo, all_priors, decode_boxes

REFERENCE = np.load(Path(__file__).parents[1] / "data" / "yolo_reference.npz")
"""Raw boxes of the yolov5 package with our weights, written by with_yolov5/test_yolo_parity.py."""

CELLS = {(64, 96): (96, 24, 6), (160, 96): (240, 60, 15)}
"""Numbers of cells at strides 8, 16 and 32, by height and width of the reference pictures."""

torchscript = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")


@pytest.fixture(scope="module")
def yolo() -> Yolo:
    network = Yolo().eval()
    network.load_state_dict(torch.load(WEIGHTS / "yolo.pt", weights_only=True))
    return network.requires_grad_(False)


def noise(*shape: int) -> Tensor:
    """Return the same uint8 noise at every call."""
    return torch.from_numpy(np.random.default_rng(7).integers(0, 256, shape, dtype=np.uint8))


TWO_CELLS = torch.tensor(
    [
        [[10.0, 10, 8, 4, 0.1, 0.9], [50, 50, 8, 4, 0.8, 0.5]],
        [[12.0, 11, 6, 2, 0.95, 18 / 19], [51, 51, 8, 4, 0.2, 0.9]],
    ]
)[None]
"""Two anchors of two cells: box centre and size, objectness, probability of the class."""


CELLS_OF_THESE = torch.tensor([[8.0, 8, 8], [40, 40, 16]])
ANCHORS_OF_THESE = torch.tensor([[[8.0, 4], [6, 2]], [[8, 4], [8, 4]]])


class Answering(Yolo):
    """A network whose heads return TWO_CELLS: the first at stride 8, the second at stride 16."""

    def heads(self, pictures: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        offsets = (TWO_CELLS[..., :2] - CELLS_OF_THESE[:, :2]) / CELLS_OF_THESE[:, 2:]
        sizes = torch.zeros_like(offsets)  # the anchors' own
        logits = torch.cat(((offsets / 2 + 0.25).logit(), sizes, TWO_CELLS[..., 4:].logit()), 3)
        return logits.transpose(2, 3), CELLS_OF_THESE, ANCHORS_OF_THESE


@pytest.mark.parametrize("size_hw", CELLS)
def test_boxes_equal_those_of_the_yolov5_package(yolo: Yolo, size_hw: tuple[int, int]) -> None:
    candidates = yolo.candidates(noise(1, *size_hw, 3))
    levels = [level.flatten(1, 2) for level in candidates.split(CELLS[size_hw], 2)]
    expected = torch.from_numpy(REFERENCE["{}x{}".format(*size_hw)])
    torch.testing.assert_close(torch.cat(levels, 1), expected, atol=2e-3, rtol=1e-3)


def test_a_head_that_says_nothing_puts_its_anchors_on_the_cells_centres() -> None:
    head = Detect(1, (1, 1, 1))
    head.anchors.copy_(torch.tensor([[1.0, 0.5], [2.0, 0.5], [4.0, 1.0]]).expand(3, 3, 2))
    zeros = {name: torch.zeros_like(tensor) for name, tensor in head.m.state_dict().items()}
    head.m.load_state_dict(zeros)
    levels = [torch.zeros(1, 1, 4, 8), torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 1, 2)]
    logits, cells, anchors = head(levels)
    boxes = decode_boxes(logits.transpose(2, 3), all_priors(cells, anchors))
    assert boxes.shape == (1, 3, 32 + 8 + 2, 6)
    assert boxes[0, 0, 0].tolist() == [4, 4, 8, 4, 0.5, 0.5]  # stride 8, first cell
    assert boxes[0, 1, 9].tolist() == [12, 12, 16, 4, 0.5, 0.5]  # second row, second column
    assert boxes[0, 2, 41].tolist() == [48, 16, 128, 32, 0.5, 0.5]  # stride 32, last cell


def test_each_cell_answers_with_its_best_anchor_best_cell_first() -> None:
    rows = Answering(max_candidates=2)(noise(1, 32, 32, 3))
    expected = torch.tensor([[[9, 10, 15, 12, 0.9, 0], [46, 48, 54, 52, 0.4, 0]]])
    torch.testing.assert_close(rows, expected, atol=1e-4, rtol=1e-4)


def test_as_many_rows_as_asked_for() -> None:
    assert Answering(max_candidates=1)(noise(1, 32, 32, 3)).shape == (1, 1, 6)
    rows = Answering(max_candidates=5)(noise(1, 32, 32, 3))
    torch.testing.assert_close(rows[0, :, 4], torch.tensor([0.9, 0.4, 0, 0, 0]))


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((1, 32, 32, 3), id="smallest"),
        pytest.param((1, 32, 320, 3), id="panorama"),
        pytest.param((2, 192, 64, 3), id="tall"),
    ],
)
def test_pictures_of_any_size_stay_and_give_rows_best_first(yolo: Yolo, shape) -> None:
    pictures = noise(*shape)
    rows = yolo(pictures)
    assert torch.equal(pictures, noise(*shape))
    assert rows.shape == (shape[0], 300, 6)
    assert rows.dtype == torch.float32
    assert rows[..., 4].diff(dim=1).max() <= 0
    assert rows[..., 4].min() >= 0
    assert rows[..., 4].max() <= 1
    assert rows[..., 5].unique().tolist() == [0]


def test_a_picture_is_not_touched_by_its_neighbours(yolo: Yolo) -> None:
    pictures = noise(2, 64, 96, 3)
    together, alone = yolo.candidates(pictures), yolo.candidates(pictures[1:2])
    torch.testing.assert_close(together[1:2], alone, atol=2e-3, rtol=1e-3)


@torchscript
def test_torchscript_equals_eager_at_every_size_frozen_or_not(yolo: Yolo) -> None:
    scripted = torch.jit.script(yolo)
    answers = [
        (scripted(noise(2, 64, 96, 3)), yolo(noise(2, 64, 96, 3))),
        (scripted(noise(1, 32, 256, 3)), yolo(noise(1, 32, 256, 3))),
        (torch.jit.freeze(scripted)(noise(1, 160, 96, 3)), yolo(noise(1, 160, 96, 3))),
    ]
    for actual, reference in answers:
        torch.testing.assert_close(actual[..., 4], reference[..., 4], atol=1e-4, rtol=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_half_precision_on_a_gpu_keeps_the_scores(yolo: Yolo) -> None:
    pictures = read_picture(WEIGHTS / "canary.jpg")[None, :128, :320]
    half_network = Yolo().eval()
    half_network.load_state_dict(yolo.state_dict())
    rows = half_network.cuda().half()(pictures.cuda())
    scores = yolo(pictures)[..., 4]
    assert scores.max() > 0.9
    torch.testing.assert_close(rows[..., 4].cpu(), scores, atol=1e-2, rtol=5e-2)
