"""Our detector against the `yolov5` package itself; needs the Poetry group `train`.

Run as a script, it writes what the tests of the serving environment compare with:

    python tests/workshop/training/with_yolov5/test_yolo_parity.py
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from orchestrator.networks.yolo import Yolo

ROOT = Path(__file__).parents[4]
REFERENCE = ROOT / "tests" / "data" / "yolo_reference.npz"
SIZES_HW = ((64, 96), (160, 96))


def noise(*shape: int) -> Tensor:
    """The same uint8 noise at every call, and in tests/networks/test_yolo.py."""
    return torch.from_numpy(np.random.default_rng(7).integers(0, 256, shape, dtype=np.uint8))


def weights() -> dict[str, Tensor]:
    return torch.load(ROOT / "weights" / "yolo.pt", weights_only=True)


@torch.no_grad()
def boxes_of_the_package(pictures: Tensor) -> Tensor:
    """Raw boxes (B, N, 6) of yolov5's own network with our weights, for uint8 (B, H, W, 3) BGR."""
    from workshop.training.detector.detector_training import build

    network = build(None, 640)
    network.load_state_dict(weights())
    rgb = pictures.flip(3).permute(0, 3, 1, 2).float() / 255
    return network.eval()(rgb)[0]


@torch.no_grad()
def boxes_of_ours(pictures: Tensor) -> Tensor:
    """Raw boxes (B, N, 6) of our network, in the package's order: strides, anchors, cells."""
    network = Yolo().eval()
    network.load_state_dict(weights())
    area = pictures.shape[1] * pictures.shape[2]
    levels = network.candidates(pictures).split([area // 64, area // 256, area // 1024], 2)
    return torch.cat([level.flatten(1, 2) for level in levels], 1)


@pytest.mark.filterwarnings("ignore")  # yolov5 is older than the libraries that it imports
@pytest.mark.parametrize("shape", [(1, 64, 96, 3), (2, 160, 96, 3), (1, 640, 640, 3)])
def test_every_raw_box_equals_the_packages(shape: tuple[int, ...]) -> None:
    pytest.importorskip("yolov5", reason="needs the Poetry group train", exc_type=ImportError)
    pictures = noise(*shape)
    torch.testing.assert_close(
        boxes_of_ours(pictures), boxes_of_the_package(pictures), atol=2e-3, rtol=1e-3
    )


if __name__ == "__main__":
    sizes = {f"{height}x{width}": noise(1, height, width, 3) for height, width in SIZES_HW}
    np.savez_compressed(
        REFERENCE,
        **{name: boxes_of_the_package(picture).numpy() for name, picture in sizes.items()},
    )
