"""Third-party detectors: recognised as such, tested before serving, and run as TorchScript."""

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor, nn

from orchestrator.errors import SettingsError, WeightsError
from orchestrator.networks.detectors import check_detector, load_detector, move
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load, load_networks, represent, write_network
from orchestrator.networks.registry import choose_engine, is_archive
from orchestrator.networks.weights import WEIGHTS, list_sums
from tests.samples import copy_of

Detector = Callable[[Tensor], Tensor]


class Quarters(nn.Module):
    """A detector that finds the four quarters of a picture; brighter ones have higher scores."""

    def forward(self, pictures: Tensor) -> Tensor:
        count, height, width = pictures.size(0), pictures.size(1) / 2, pictures.size(2) / 2
        corner = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        size_wh = torch.tensor([width, height])
        boxes = torch.cat((corner * size_wh, (corner + 1) * size_wh), 1)
        bright = F.adaptive_avg_pool2d(pictures.permute(0, 3, 1, 2).float(), [2, 2]).mean(1) / 255
        score_class = torch.stack((bright.flatten(1), torch.zeros(count, 4)), 2)
        return torch.cat((boxes.expand(count, 4, 4), score_class), 2)


def quarters(pictures: Tensor) -> Tensor:
    answer: Tensor = Quarters()(pictures)
    return answer


def with_column(column: int, value: float) -> Detector:
    """Return the detector of quarters with an invalid number in its second row."""

    def detect(pictures: Tensor) -> Tensor:
        rows = quarters(pictures)
        rows[:, 1, column] = value
        return rows

    return detect


def of_one_size(pictures: Tensor) -> Tensor:
    """Accept only pictures of 160x96, as a traced network may."""
    return quarters(pictures.reshape(len(pictures), 96, 160, 3))


def centre_and_size(pictures: Tensor) -> Tensor:
    xyxy = quarters(pictures)
    low, high = xyxy[..., :2], xyxy[..., 2:4]
    return torch.cat(((low + high) / 2, high - low, xyxy[..., 4:]), 2)


def in_parts(pictures: Tensor) -> Tensor:
    rows = quarters(pictures)
    rows[..., :4] /= torch.tensor([pictures.shape[2], pictures.shape[1]]).repeat(2)
    return rows


def padding(pictures: Tensor) -> Tensor:
    return F.pad(torch.zeros(len(pictures), 0, 6), [0, 0, 0, 5])


def with_padding(pictures: Tensor) -> Tensor:
    return torch.cat((padding(pictures), quarters(pictures)), 1)


def first_alone(pictures: Tensor) -> Tensor:
    return quarters(pictures[:1].expand(pictures.shape))


@pytest.mark.parametrize("detector", [quarters, with_padding, padding])
def test_a_detector_that_keeps_the_contract_is_taken(detector: Detector) -> None:
    check_detector(detector)


SHAPE = r"160x96 pictures: wanted float32 \[1, K, 6\], got "


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        pytest.param(lambda p: quarters(p).half(), SHAPE + r"float16 \[1, 4, 6\]", id="half"),
        pytest.param(lambda p: quarters(p)[0], SHAPE + r"float32 \[4, 6\]", id="no batch"),
        pytest.param(lambda p: quarters(p)[..., :5], SHAPE + r"float32 \[1, 4, 5\]", id="five"),
        pytest.param(lambda p: (quarters(p),), SHAPE + "a tuple", id="tuple"),
        pytest.param(
            with_column(0, float("nan")), "wanted finite numbers, got NaN in row 1", id="NaN"
        ),
        pytest.param(with_column(4, 37.2), r"wanted scores in \[0, 1\], got 37\.2", id="logits"),
        pytest.param(
            of_one_size,
            r"64x128 pictures: wanted an answer to uint8 \[1, 128, 64, 3\], as sides are any "
            r"multiples of 32, got shape '\[1, 96, 160, 3\]' is invalid",
            id="fixed size",
        ),
        pytest.param(
            centre_and_size,
            "160x96 pictures: wanted x0 < x1 and y0 < y1 in pixels of the 160x96 letterbox, "
            "got 120, 24, 80, 48",
            id="centre and size",
        ),
        pytest.param(in_parts, "in pixels of the 160x96 letterbox, got 0, 0, 0.5, 0.5", id="parts"),
        pytest.param(
            first_alone,
            "160x96 pictures: wanted the same answers in a batch of two as for each picture alone, "
            "got others",
            id="batch",
        ),
    ],
)
def test_a_detector_that_breaks_the_contract_is_refused(detector, message: str) -> None:
    with pytest.raises(WeightsError, match=rf"^theirs\.pt: .*{message}"):
        check_detector(detector, source="theirs.pt")


class TestDetectorFiles:
    @pytest.fixture
    def weights(self, tmp_path: Path) -> Path:
        """A folder with our weights and another detector."""
        folder = copy_of("weights", tmp_path)
        torch.jit.save(torch.jit.script(Quarters()), folder / "yolo.pt")
        list_sums(folder)
        return folder

    def test_an_archive_is_told_from_state_dicts(self, weights, tmp_path) -> None:
        torch.save({}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
        (tmp_path / "junk.pt").write_bytes(b"PK but no zip file")
        assert is_archive(weights / "yolo.pt")
        assert not is_archive(WEIGHTS / "yolo.pt")
        assert not is_archive(tmp_path / "old.pt")
        assert not is_archive(tmp_path / "junk.pt")
        assert not is_archive(tmp_path / "none.pt")

    def test_nothing_is_unpickled_to_tell_them_apart(self, tmp_path) -> None:
        class Trap:
            def __reduce__(self):
                return Path.touch, (tmp_path / "sprung",)

        with zipfile.ZipFile(tmp_path / "yolo.pt", "w") as archive:
            archive.writestr("trap/constants.pkl", pickle.dumps(Trap()))
            archive.writestr("trap/data.pkl", pickle.dumps(Trap()))
        list_sums(tmp_path)
        assert is_archive(tmp_path / "yolo.pt")
        with pytest.raises(WeightsError, match=r"yolo\.pt: wanted TorchScript that PyTorch .* loa"):
            load_detector(tmp_path / "yolo.pt")
        assert not (tmp_path / "sprung").exists()

    @pytest.mark.parametrize("engine", [Engine.TORCHSCRIPT, Engine.OPENVINO, Engine.OPENVINO_INT8])
    def test_it_is_torchscript_whatever_runs_the_others(self, weights, engine: Engine) -> None:
        assert choose_engine("yolo", weights, engine) is Engine.TORCHSCRIPT
        assert choose_engine("yolo", WEIGHTS, engine) is engine
        assert choose_engine("lprnet", weights, engine) is engine
        assert choose_engine("plate_reader_prepare", weights, engine) is Engine.TORCHSCRIPT

    def test_it_runs_in_process_beside_networks_in_integers(self, weights) -> None:
        net = torch.full((1, 64, 96, 3), 51, dtype=torch.uint8)
        infer = load_networks(weights, engine=Engine.OPENVINO_INT8)
        rows = infer("yolo", {"input__0": net})["output__0"]
        assert rows[0, 3].tolist() == pytest.approx([48, 32, 96, 64, 0.2, 0])

    def test_it_is_written_as_it_is(self, weights, tmp_path) -> None:
        path = tmp_path / "1" / "model.pt"
        write_network("yolo", path, weights, Engine.OPENVINO)
        net = torch.full((2, 64, 96, 3), 51, dtype=torch.uint8)
        assert torch.equal(torch.jit.load(path)(net), quarters(net))

    def test_openvino_has_no_form_of_it(self, weights) -> None:
        with pytest.raises(
            SettingsError,
            match=r"yolo\.pt: wanted a state dict for OpenVINO and 8-bit integers, got a TorchScri",
        ):
            represent("yolo", weights)

    def test_one_that_breaks_the_contract_is_refused_when_it_is_loaded(self, weights) -> None:
        torch.jit.save(torch.jit.script(nn.Identity()), weights / "yolo.pt")
        list_sums(weights)
        with pytest.raises(WeightsError, match=r"yolo\.pt: 160x96 pictures: wanted float32 .*uint"):
            load_networks(weights)

    def test_one_with_operators_of_another_package_is_refused(self, weights, tmp_path) -> None:
        torch.jit.save(torch.jit.script(nn.ReLU()), tmp_path / "plain.pt")
        with (
            zipfile.ZipFile(tmp_path / "plain.pt") as plain,
            zipfile.ZipFile(weights / "yolo.pt", "w") as archive,
        ):
            for name in plain.namelist():
                code = plain.read(name).replace(b"torch.relu(input)", b"ops.torchvision.nms(input)")
                archive.writestr(name, code)
        list_sums(weights)
        with pytest.raises(
            WeightsError, match=r"without other packages, got Unknown builtin op: torchvision::nms"
        ):
            load("yolo", weights)

    def test_another_file_than_the_listed_one_is_refused(self, weights) -> None:
        torch.jit.save(torch.jit.script(nn.Identity()), weights / "yolo.pt")
        with pytest.raises(WeightsError, match=r"yolo\.pt: wanted SHA-256"):
            load("yolo", weights)

    @pytest.mark.gpu
    @pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
    def test_it_moves_to_a_gpu_with_its_constants(self, weights) -> None:
        write_network("yolo", weights / "yolo.pt")
        list_sums(weights)
        generator = torch.Generator().manual_seed(0)
        net = torch.randint(256, (1, 64, 96, 3), generator=generator, dtype=torch.uint8)
        on_cpu = load_detector(weights / "yolo.pt")
        on_gpu = move(load_detector(weights / "yolo.pt"), torch.device("cuda"))
        rows = on_gpu(net.cuda())
        assert rows.is_cuda
        torch.testing.assert_close(rows.cpu(), on_cpu(net), atol=1e-2, rtol=1e-2)
