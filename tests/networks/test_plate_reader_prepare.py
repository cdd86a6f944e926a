import pytest
import torch

from orchestrator.networks.export import load, script
from orchestrator.reading.crops import crop_plates


@pytest.fixture(scope="module")
def prepare() -> torch.jit.ScriptModule:
    return script(load("plate_reader_prepare"))


@pytest.mark.parametrize(
    ("height", "width"), [(1, 1), (24, 94), (48, 188), (60, 201), (7, 300), (300, 7)]
)
def test_a_crop_becomes_what_the_pipeline_makes_of_it(prepare, height: int, width: int) -> None:
    crop = torch.randint(256, (height, width, 3), dtype=torch.uint8)
    whole = torch.tensor([[0.0, 0, width, height]])
    assert torch.equal(prepare(crop), crop_plates(crop, whole, (0, 0)))


@pytest.mark.parametrize(("height", "width"), [(0, 5), (5, 0), (4001, 4000)])
def test_a_crop_of_no_or_too_many_pixels_is_refused(prepare, height: int, width: int) -> None:
    crop = torch.zeros((height, width, 3), dtype=torch.uint8)
    with pytest.raises(
        torch.jit.Error, match=rf"wanted 1 to 16000000 pixels, got {width}x{height}"
    ):
        prepare(crop)
