"""An export in the format of ultralytics becomes a detector of the service."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from examples.detector.__main__ import main, read_export, write_weights
from examples.detector.adapter import Adapter
from orchestrator.errors import SettingsError, WeightsError
from orchestrator.networks.detectors import check_detector
from orchestrator.networks.export import load
from orchestrator.networks.weights import WEIGHTS, check_listed
from tests.examples.exports import write_export


class ScriptedNetwork(nn.Module):
    """A network that returns a given answer and records its input."""

    def __init__(self, answer: Tensor) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, planes: Tensor) -> Tensor:
        self.planes = planes
        return self.answer


def grey(height: int, width: int) -> Tensor:
    return torch.full((1, height, width, 3), 51, dtype=torch.uint8)


TWO = torch.tensor([[[10.0, 50], [20, 60], [4, 8], [2, 6], [0.2, 0.5], [0.1, 0.9]]])
"""Two boxes of two classes: centre, size and both scores; the second box has the higher score."""


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that takes pictures of any size."""
    return write_export(tmp_path_factory.mktemp("export") / "theirs.torchscript")


def test_rows_come_best_first_as_corners_with_the_likeliest_class() -> None:
    rows = Adapter(ScriptedNetwork(TWO))(grey(64, 96))
    expected_rows = torch.tensor([[[46, 57, 54, 63, 0.9, 1], [8, 19, 12, 21, 0.2, 0]]])
    torch.testing.assert_close(rows, expected_rows)


def test_blue_green_red_become_red_green_blue_between_0_and_1() -> None:
    theirs, picture = ScriptedNetwork(TWO), grey(32, 64)
    picture[..., 0] = 255
    Adapter(theirs)(picture)
    assert theirs.planes.shape == (1, 3, 32, 64)
    assert theirs.planes[0, :, 0, 0].tolist() == pytest.approx([0.2, 0.2, 1.0])


def test_a_smaller_picture_is_filled_up_to_their_only_size() -> None:
    theirs = ScriptedNetwork(TWO)
    rows = Adapter(theirs, (64, 128))(grey(32, 96))
    assert theirs.planes.shape == (1, 3, 64, 128)
    assert theirs.planes[0, 0, 31, 95].item() == pytest.approx(0.2)
    assert theirs.planes[0, 0, 32, 95] == theirs.planes[0, 0, 31, 96] == pytest.approx(114 / 255)
    assert rows[0, 0, :4].tolist() == [46, 57, 54, 63]


def test_a_larger_picture_is_shrunk_and_its_boxes_grow_back() -> None:
    theirs = ScriptedNetwork(TWO)
    rows = Adapter(theirs, (64, 64))(grey(128, 96))
    assert theirs.planes[0, 0, 63, 47].item() == pytest.approx(0.2)
    assert theirs.planes[0, 0, 63, 48].item() == pytest.approx(114 / 255)
    assert rows[0, 0, :4].tolist() == [92, 114, 108, 126]


def test_rows_that_they_chose_themselves_are_kept() -> None:
    their_rows = torch.tensor([[[1.0, 2, 3, 4, 0.9, 0], [0, 0, 0, 0, 0, 0]]])
    rows = Adapter(ScriptedNetwork(their_rows), (64, 64))(grey(128, 128))
    assert rows.tolist() == [
        [[2, 4, 6, 8, pytest.approx(0.9), 0], [0, 0, 0, 0, 0, 0]],
    ]


@pytest.mark.parametrize("size_hw", [None, (96, 160)])
@torch.inference_mode()
def test_an_adapted_export_keeps_the_contract_and_finds_what_ours_finds(
    size_hw, export, tmp_path
) -> None:
    path = write_export(tmp_path / "theirs.torchscript", size_hw) if size_hw else export
    module, input_size_hw = read_export(path)
    assert input_size_hw == (size_hw or (0, 0))
    adapted = torch.jit.script(Adapter(module, input_size_hw).eval())
    check_detector(adapted)
    noise = torch.randint(0, 256, (2, 96, 160, 3), generator=torch.Generator().manual_seed(0))
    rows, ours = adapted(noise.byte()), load("yolo")(noise.byte())
    torch.testing.assert_close(rows[:, 0], ours[:, 0], atol=1e-3, rtol=1e-3)


def test_the_command_says_what_it_wrote(export, tmp_path, capsys) -> None:
    out = tmp_path / "my_weights"
    main([str(export), "--out", str(out)])
    first, second = capsys.readouterr().out.splitlines()
    reader = "lprnet.int8.bin, lprnet.int8.xml, lprnet.pth"
    assert first == f"{out}: formats.toml, {reader}, stn.pth, yolo.pt"
    assert check_listed(out / "yolo.pt")[:12] in second


def test_the_project_s_own_weights_are_not_written_over(export) -> None:
    with pytest.raises(SettingsError, match=r"^out: wanted another folder than the weights' own"):
        write_weights(export, WEIGHTS)


def test_a_file_that_is_no_export_is_refused(tmp_path) -> None:
    with pytest.raises(WeightsError, match=r"yolo\.pt: wanted TorchScript, got "):
        write_weights(WEIGHTS / "yolo.pt", tmp_path / "out")
    with pytest.raises(WeightsError, match=r"none: wanted TorchScript, got "):
        write_weights(tmp_path / "none", tmp_path / "out")


class Two(nn.Module):
    """A network with two outputs, as segmentation networks have."""

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        return planes, planes


def test_an_export_with_more_than_one_output_is_refused_in_one_sentence(tmp_path) -> None:
    torch.jit.save(torch.jit.script(Two()), tmp_path / "theirs")
    with pytest.raises(WeightsError, match=r"^.*theirs: wanted a tensor for a tensor, got .+$"):
        write_weights(tmp_path / "theirs", tmp_path / "out")
