"""The network for hidden ends: drawn, trained and written as the service reads it."""

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from orchestrator.formats.plate_formats import russian
from orchestrator.reading.hidden_ends import INPUT_HW, NETWORK, read_layers, weigh_ends
from orchestrator.reading.reader import Reader
from orchestrator.settings import Settings
from tests.real_networks import load_int8
from workshop.rendering.samples.photos import Photo, photograph_plate
from workshop.training.hidden_ends import __main__ as command
from workshop.training.hidden_ends import end_samples
from workshop.training.hidden_ends.end_network import save, train
from workshop.training.hidden_ends.end_samples import VIEWS, EndSample, photograph_ends, render_ends
from workshop.training.reader.crops import RealCrop


def draw_ends(count: int) -> list[EndSample]:
    """Draw noise in place of plates; hidden ends are dark at the right."""
    noise = np.random.default_rng(3).normal(0, 1, (count, VIEWS, *INPUT_HW)).astype(np.float32)
    noise[::2, :, :, 70:] -= 2
    return [EndSample(views, index % 2 == 0) for index, views in enumerate(noise)]


def test_the_service_reads_the_trained_network_and_weighs_alike(tmp_path: Path) -> None:
    samples = draw_ends(8)
    network = train(samples, 10, seed=0)
    save(network, tmp_path / "ends.npz")
    views = np.stack([sample.views[0] for sample in samples])
    odds = weigh_ends(views, read_layers(tmp_path / "ends.npz"))
    with torch.no_grad():
        assert network(torch.from_numpy(views[:, None])).numpy() == pytest.approx(odds, abs=1e-4)
    assert min(odds[::2]) > max(odds[1::2])


def test_the_same_samples_and_seed_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("ends.npz", "again.npz"):
        save(train(draw_ends(4), 3, seed=5), tmp_path / name)
    assert (tmp_path / "ends.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()


def test_the_file_has_the_form_of_the_projects_own(tmp_path: Path) -> None:
    save(train(draw_ends(2), 2, seed=0), tmp_path / "ends.npz")
    with np.load(tmp_path / "ends.npz") as new, np.load(NETWORK) as own:
        assert [(name, new[name].shape, new[name].dtype) for name in new.files] == [
            (name, own[name].shape, own[name].dtype) for name in own.files
        ]


@pytest.fixture(autouse=True)
def photograph_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(end_samples, "REAL_PHOTOS", {8: 1, 9: 4})


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.of(load_int8(), Settings())


def test_rendered_plates_give_ends_of_both_kinds_and_the_same_ones_again(reader: Reader) -> None:
    ends, again = ([*render_ends(6, 4, reader)] for _ in range(2))
    assert {end.is_hidden for end in ends} == {True, False}
    np.testing.assert_equal(ends, again)


def photograph(digits: int) -> RealCrop:
    """Photograph a plate with so many digits of a region, cut out with the usual margins."""
    rng = np.random.default_rng({2: 1, 3: 10}[digits])
    photo = photograph_plate(rng, "ru_car", widths_px=(200, 220))
    assert len(photo.text) == 6 + digits
    return cut_crop(photo)


def cut_crop(photo: Photo) -> RealCrop:
    (x0, y0), (x1, y1) = photo.quad.min(axis=0), photo.quad.max(axis=0)
    x, y = 0.05 * (x1 - x0), 0.2 * (y1 - y0)
    rows, columns = slice(round(y0 - y), round(y1 + y)), slice(round(x0 - x), round(x1 + x))
    return RealCrop("7_0.png", photo.picture[rows, columns], photo.text)


@pytest.mark.parametrize(("digits", "is_hidden"), [(2, False), (3, True)])
def test_real_plates_are_whole_or_their_third_digit_is_hidden(
    reader: Reader, digits: int, is_hidden: bool
) -> None:
    ends = [*photograph_ends([photograph(digits)], 0, reader)]
    assert {end.is_hidden for end in ends} == {is_hidden}


def test_crops_that_are_read_otherwise_are_left_out(reader: Reader) -> None:
    crop = photograph(2)
    wrong = RealCrop(crop.name, crop.picture, "A123BC77")
    assert russian().format_of(wrong.text) == "ru_car"
    assert [*photograph_ends([wrong], 0, reader)] == []


def test_the_command_writes_the_network_and_judges_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crop = photograph(3)
    cv2.imwrite(str(tmp_path / "8_0.png"), crop.picture)
    cv2.imwrite(str(tmp_path / "9_0.png"), crop.picture)
    rows = ["crop,text", f"8_0.png,{crop.text}", f"9_0.png,{crop.text}"]
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    monkeypatch.setattr(command, "load_networks", lambda **_: load_int8())
    monkeypatch.setattr(command, "render_ends", lambda count, *_: draw_ends(count))
    out = tmp_path / "ends.npz"
    command.main(["--out", str(out), "--plates", "16", "--steps", "2", "--crops", str(tmp_path)])
    assert len(read_layers(out)) == 5
    assert "rendered: of 1 hidden ends count as hidden: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("out", "message"),
    [
        pytest.param("no/ends.npz", "out: wanted a folder that is there, got no", id="no folder"),
        pytest.param("ends.npz", "wanted hidden and whole ends, got one kind", id="one kind"),
    ],
)
def test_what_cannot_be_trained_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], out: str, message: str
) -> None:
    monkeypatch.setattr(command, "draw", lambda _: (draw_ends(1), {}))
    with pytest.raises(SystemExit, match="2"):
        command.main(["--out", out])
    assert message in capsys.readouterr().err
