"""Training of STN on corners, and the corners of the shipped STN compared with known ones."""

import cv2
import numpy as np
import pytest
import torch

from orchestrator.networks.export import load_networks
from orchestrator.networks.stn import STN
from orchestrator.pipeline import Infer, Tensors, recognize
from workshop.rendering.camera import Quad, View, warp
from workshop.rendering.country import russia
from workshop.rendering.samples.synth import UNKNOWN_CORNERS, render_samples
from workshop.training.reader.corners import ROOM, corner_loss, teach_corners
from workshop.training.reader.reader_recipe import CornerSchedule
from workshop.training.reader.sample_pools import to_input

WIDTH_PX = 180.0


@pytest.fixture(scope="module")
def networks() -> Infer:
    return load_networks()


def render_view(view: View) -> tuple[torch.Tensor, Quad]:
    """A plate on a grey wall, (400, 600, 3) uint8 BGR, and its corners in the picture."""
    wall = np.full((400, 600, 3), 90, np.uint8)
    quad = view.quad() + np.array([300, 200])
    picture = warp(russia().plate_of("M456OP199").picture, wall, quad)
    return torch.from_numpy(cv2.GaussianBlur(picture, (0, 0), 0.6).astype(np.uint8)), quad


def seen_at(networks: Infer, quad: Quad) -> Infer:
    """The networks, with a detector that knows where the plate is."""
    (x0, y0), (x1, y1) = quad.min(axis=0).tolist(), quad.max(axis=0).tolist()

    def infer(name: str, tensors: Tensors) -> Tensors:
        if name != "yolo":
            return networks(name, tensors)
        height, width = tensors["input__0"].shape[1:3]
        scale = min(width / 600, height / 400)
        shift = np.array([(width - 600 * scale) / 2, (height - 400 * scale) / 2] * 2)
        box = np.array([x0, y0, x1, y1]) * scale + shift
        return {"output__0": torch.tensor([[[*box, 0.9, 0.0]]], dtype=torch.float32)}

    return infer


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(View(0, 0, 0, WIDTH_PX), id="straight"),
        pytest.param(View(0, 0, 6, WIDTH_PX), id="rolled clockwise"),
        pytest.param(View(0, 0, -6, WIDTH_PX), id="rolled counter-clockwise"),
        pytest.param(View(25, 10, 3, WIDTH_PX), id="from the left and above"),
        pytest.param(View(-25, 10, -3, WIDTH_PX), id="from the right and above"),
    ],
)
def test_corners_lie_at_the_corners_of_the_plate(networks: Infer, view: View) -> None:
    picture, quad = render_view(view)
    (plate,) = recognize(picture, seen_at(networks, quad))
    assert plate.text == "M456OP199"
    off = np.abs(np.array(plate.corners) - quad).mean(axis=0)
    size = quad.max(axis=0) - quad.min(axis=0)
    assert (off < 0.1 * size).all(), f"wanted a mean error under 10 %, got {off / size}"


def test_the_corner_loss_is_zero_where_theta_maps_onto_the_plate() -> None:
    theta = torch.tensor([[[0.5 * ROOM, 0, 0.1], [0, 0.25 * ROOM, 0]]])
    corners = torch.tensor([[[-0.4, -0.25], [0.6, -0.25], [0.6, 0.25], [-0.4, 0.25]]])
    assert corner_loss(theta, corners).item() == pytest.approx(0, abs=1e-6)
    assert corner_loss(theta, corners + 0.2).item() == pytest.approx(0.2)


def test_unknown_corners_do_not_count() -> None:
    unknown = torch.from_numpy(UNKNOWN_CORNERS)[None]
    assert corner_loss(torch.zeros(1, 2, 3), unknown).item() == 0


@torch.no_grad()
def corner_error(stn: STN, crops: torch.Tensor, corners: torch.Tensor) -> float:
    return corner_loss(stn.eval().theta(crops), corners).item()


def test_teaching_brings_the_corners_nearer() -> None:
    torch.manual_seed(0)
    stn, plates = STN(), render_samples(6, seed=1)
    crops, corners = to_input(torch.from_numpy(plates.crops)), torch.from_numpy(plates.corners)
    before = corner_error(stn, crops, corners)
    teach_corners(stn, plates, CornerSchedule(steps=60, batch=6, rate=4e-3, warm_up=10), seed=0)
    assert corner_error(stn, crops, corners) < 0.5 * before
    assert stn.theta(crops).std(dim=0).max() > 0.01, "one theta for every crop"
