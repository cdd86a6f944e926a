"""Plates that are read again, the choice among their readings, and the limit of this work."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor

from orchestrator.errors import ModelError
from orchestrator.formats.plate_formats import Formats, PlateFormat, russian
from orchestrator.reading.affine_crops import (
    SECOND_PASS_MARGINS_XY,
    corners_of,
    cut_frame,
    grow_frames,
    unfold_at,
)
from orchestrator.reading.closer_look import closer_look
from orchestrator.reading.ctc import Reading
from orchestrator.reading.reader import PlateReadings, Reader, may_gain
from orchestrator.reading.second_pass import SECOND_PASS
from orchestrator.reading.skew import RATIOS
from orchestrator.reading.third_pass import THIRD_PASS, TWO_LINE_MARGINS_XY, UPPER_LINE
from orchestrator.settings import Settings
from tests.scripted_networks import ALPHABET, IDENTITY, ScriptedInfer, logits_of, picture, rows
from workshop.evaluation.recognizers import read_plates

BOX = np.array([[100.0, 100.0, 200.0, 125.0]], np.float32)
FLAT = Formats(ALPHABET, (PlateFormat("long", ("LDDDLL",)),))
UPRIGHT = np.array([[[50.0, 0, 150], [0, 12, 112]]], np.float32)
ASLANT = np.array([[[50.0, -4, 150], [10, 12, 112]]], np.float32)
TILTED = torch.tensor([[1.0, -0.1, 0.0], [1.0, 1.0, 0.0]])


class ThetasInTurn(ScriptedInfer):
    """STN finds plates tilted at the first look, as they are at the next ones."""

    def __call__(self, model: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        answer = super().__call__(model, tensors)
        if model == "stn":
            self.theta = IDENTITY
        return answer


def draw_noise(seed: int) -> Tensor:
    return torch.randint(256, (480, 640, 3), generator=torch.Generator().manual_seed(seed)).byte()


def reader_of(infer: ScriptedInfer, formats: Formats = FLAT, *, reads: bool = True) -> Reader:
    return Reader(infer, formats, reads=reads)


def plates_with_text(
    frames: np.ndarray, text: str, logit: float = 20.0, formats: Formats = FLAT
) -> PlateReadings:
    logits = logits_of(text, logit)[None].numpy()
    readings = reader_of(ScriptedInfer(rows()), formats).decode(logits)
    return PlateReadings(BOX, frames, logits, readings)


@pytest.mark.parametrize(
    ("frames", "logit", "lines_by_plate"),
    [
        pytest.param(UPRIGHT, 20.0, {}, id="upright and sure"),
        pytest.param(UPRIGHT, 4.0, {0: [1]}, id="unsure"),
        pytest.param(UPRIGHT, 1.0, {}, id="no plate"),
        pytest.param(ASLANT, 20.0, {0: [1]}, id="aslant"),
        pytest.param(ASLANT, 1.0, {0: [1]}, id="aslant and maybe no plate"),
    ],
)
def test_plates_aslant_and_unsure_ones_are_looked_at_again(
    frames: np.ndarray, logit: float, lines_by_plate: dict[int, list[int]]
) -> None:
    plates = plates_with_text(frames, "A001AA", logit)
    assert SECOND_PASS.choose(plates, reader_of(ScriptedInfer(rows()))) == lines_by_plate


def test_a_plate_that_may_have_two_lines_is_unfolded_where_there_are_such_plates() -> None:
    square = np.float32([[[50.0, 0, 150], [0, 25, 112]]])
    infer = ScriptedInfer(rows())
    plates = plates_with_text(square, "A001AA77", formats=russian())
    assert SECOND_PASS.choose(plates, reader_of(infer, russian())) == {0: [2]}
    assert SECOND_PASS.choose(plates_with_text(square, "A001AA"), reader_of(infer)) == {}


def test_the_reading_in_two_lines_has_a_layout_of_two_lines() -> None:
    infer = ScriptedInfer(rows(), ("A001AA77", *["0001AA77"] * 3), logits=(1.0, *[20.0] * 3))
    box = np.float32([[100.0, 100.0, 200.0, 150.0]])
    plates = read_plates(picture(), box, reader_of(infer, russian()))
    assert plates.readings[0].candidates[0][0] == "0001AA77"


def test_plates_are_located_without_being_read() -> None:
    infer = ScriptedInfer(rows())
    plates = read_plates(picture(), BOX, reader_of(infer, reads=False))
    assert infer.calls == ["stn"]
    assert plates.readings == ()
    assert plates.frames.shape == (1, 2, 3)


def test_a_plate_that_may_have_two_lines_is_cut_along_its_box_too() -> None:
    infer = ScriptedInfer(rows(), ("A001AA77",) * 4)
    street = draw_noise(0)
    read_plates(street, np.float32([[100.0, 100.0, 200.0, 150.0]]), reader_of(infer, russian()))
    assert infer.batches == [1, 1, 3, 3]
    box = np.float32([[50.0, 0, 150], [0, 25, 125]])
    assert torch.equal(infer.crops[2:], cut_frame(street, box, lines=2))


CUTS = len(TWO_LINE_MARGINS_XY) * len(UPPER_LINE)
"""Cuts of the third pass along one frame of a plate of two lines."""


@pytest.mark.parametrize(
    ("last", "text"),
    [
        pytest.param(9.0, "B002BB77", id="surer at another row"),
        pytest.param(3.0, "A001AA77", id="surest in the middle"),
    ],
)
def test_an_unsure_plate_of_two_lines_is_divided_at_other_rows_with_several_margins(
    last: float, text: str
) -> None:
    texts = ("A001AA77",) * (3 + CUTS) + ("B002BB77",)
    infer = ScriptedInfer(rows(), texts, logits=(1.0, *[4.0] * 3, *[3.0] * (CUTS - 1), last))
    street = draw_noise(2)
    box = np.float32([[100.0, 100.0, 200.0, 150.0]])
    plates = read_plates(street, box, reader_of(infer, russian()))
    assert infer.batches == [1, 1, 3, 3, CUTS, CUTS]
    upright = street[100:150, 100:200]
    for crop, share in zip(infer.crops, UPPER_LINE, strict=False):
        assert torch.allclose(crop, unfold_at(upright, share)[0], atol=0.02)
    assert not torch.allclose(infer.crops[-1], infer.crops[len(UPPER_LINE) - 1], atol=0.1)
    assert plates.readings[0].candidates[0][0] == text
    if text == "B002BB77":  # the plate's place is its box, without the margin of that cut
        assert corners_of(plates.frames)[0, ::2].tolist() == [[100, 100], [200, 150]]


def street_with_turned_lines(degrees: float) -> Tensor:
    """Return a street with a turned plate of two lines in the box 100, 100 to 300, 250."""
    rows_of, columns = torch.meshgrid(torch.arange(480.0), torch.arange(640.0), indexing="ij")
    radians = math.radians(degrees)
    down = (rows_of - 175) * math.cos(radians) - (columns - 200) * math.sin(radians)
    along = (rows_of - 175) * math.sin(radians) + (columns - 200) * math.cos(radians)
    is_line = ((down.abs() - 22).abs() < 14) & (along.abs() < 70)
    is_dark = is_line & (torch.rand(480, 640, generator=torch.Generator().manual_seed(3)) < 0.5)
    return torch.where(is_dark, 20, 200)[:, :, None].repeat(1, 1, 3).byte()


@pytest.mark.parametrize(
    "logit", [pytest.param(1.0, id="nothing was read"), pytest.param(4.0, id="unsure")]
)
def test_a_turned_plate_of_two_lines_is_cut_along_its_edges(logit: float) -> None:
    cuts = CUTS * len(RATIOS)
    texts = ("A001AA77",) * (3 + cuts) + ("C003CC77",)
    infer = ScriptedInfer(rows(), texts, logits=(1.0, *[logit] * (2 + cuts), 12.0))
    box = np.float32([[100.0, 100.0, 300.0, 250.0]])
    plates = read_plates(street_with_turned_lines(20), box, reader_of(infer, russian()))
    assert infer.batches[4:] == [cuts] * 2
    assert plates.readings[0].candidates[0][0] == "C003CC77"
    right, down = plates.frames[0, :, 0]
    assert math.degrees(math.atan2(down, right)) == pytest.approx(20, abs=2)


@pytest.mark.parametrize(
    ("logit", "calls"),
    [pytest.param(1.0, 4, id="nothing was read"), pytest.param(4.0, 6, id="unsure")],
)
def test_a_small_box_is_cut_along_lines_only_if_something_was_read_in_it(
    logit: float, calls: int
) -> None:
    infer = ScriptedInfer(rows(), ("A001AA77",) * 30, logits=(1.0, *[logit] * 29))
    street = F.interpolate(street_with_turned_lines(20).movedim(2, 0)[None], scale_factor=0.25)
    box = np.float32([[25.0, 25.0, 75.0, 62.0]])
    read_plates(street[0].movedim(0, 2), box, reader_of(infer, russian()))
    assert len(infer.batches) == calls


def test_a_large_box_without_lines_in_which_nothing_was_read_is_not_cut_again() -> None:
    infer = ScriptedInfer(rows(), ("A001AA77",) * 4, logits=(1.0,) * 4)
    street = draw_noise(2)
    box = np.float32([[100.0, 100.0, 300.0, 250.0]])
    read_plates(street, box, reader_of(infer, russian()))
    assert len(infer.batches) == 4


def test_an_unsure_plate_of_one_line_is_cut_along_its_box_with_two_margins() -> None:
    infer = ScriptedInfer(rows(), ("A001AA",) * 3, logits=(4.0,))
    street = draw_noise(1)
    plates = read_plates(street, BOX, reader_of(infer))
    assert infer.batches == [1, 1, 2, 2]
    cuts = [grow_frames(plates.frames, margin)[0] for margin in SECOND_PASS_MARGINS_XY[1]]
    crops = torch.cat([cut_frame(street, cut, lines=1) for cut in cuts])
    assert torch.equal(infer.crops, crops)


def street_with_blur(length: int) -> Tensor:
    """Return a street with a row of dark bars in `BOX`, smeared along the rows."""
    street = torch.full((480, 640), 200.0)
    bars = torch.randint(2, (20,), generator=torch.Generator().manual_seed(0)).repeat_interleave(4)
    street[104:121, 110:190] -= 150 * bars
    kernel = torch.full((1, 1, length), 1 / length)
    blurred = F.conv1d(street[:, None], kernel, padding=length // 2)[:, 0]
    return blurred[:, :, None].repeat(1, 1, 3).byte()


@pytest.mark.parametrize(
    ("third", "text"),
    [
        pytest.param(9.0, "B002BB", id="surer without its blur"),
        pytest.param(3.0, "A001AA", id="less sure without its blur"),
    ],
)
def test_an_unsure_plate_with_motion_blur_is_read_without_it(third: float, text: str) -> None:
    texts, logits = ("A001AA", "A001AA", "A001AA", "B002BB"), (4.0, 4.0, 4.0, third)
    infer = ScriptedInfer(rows(), texts, logits=logits)
    plates = read_plates(street_with_blur(9), BOX, reader_of(infer))
    assert infer.batches == [1, 1, 2, 2, 1, 1]
    assert plates.readings[0].candidates[0][0] == text
    assert np.array_equal(plates.logits[0], logits_of(text, third if text == "B002BB" else 4.0))


def test_a_sure_plate_with_motion_blur_is_read_once() -> None:
    infer = ScriptedInfer(rows(), ("A001AA",))
    read_plates(street_with_blur(9), BOX, reader_of(infer))
    assert infer.batches == [1, 1]


def test_without_texts_only_what_lies_aslant_is_looked_at_again() -> None:
    reader = reader_of(ScriptedInfer(rows()), russian(), reads=False)
    assert SECOND_PASS.choose(PlateReadings(BOX, UPRIGHT, np.empty(0)), reader) == {}
    assert SECOND_PASS.choose(PlateReadings(BOX, ASLANT, np.empty(0)), reader) == {0: [1]}


def test_a_plate_aslant_is_cut_along_its_edges_and_lies_where_both_cuts_say() -> None:
    infer = ThetasInTurn(rows(), ("A001AA",), theta=TILTED)
    plates = read_plates(picture(), BOX, reader_of(infer))
    assert infer.calls == ["stn", "lprnet", "stn", "lprnet"]
    assert infer.batches == [1, 1, 2, 2]
    # The crop 92, 94 to 208, 131 tilted by theta, and grown by the rooms of the cuts, on average.
    across, along = np.array([58.0, 18.5]) * 1.12, np.array([-5.8, 18.5]) * 1.4
    frame = np.stack((across, along, np.array([150.0, 112.5])), 1)
    assert np.allclose(plates.frames[0], frame, atol=0.01)


@pytest.mark.parametrize(
    ("logits", "text"),
    [
        pytest.param((4.0, 9.0, 9.0), "B002BB", id="two against one"),
        pytest.param((4.0, 0.5, 0.5), "A001AA", id="one surer than two"),
    ],
)
def test_readings_of_all_looks_at_a_plate_are_averaged(
    logits: tuple[float, ...], text: str
) -> None:
    infer = ScriptedInfer(rows(), ("A001AA", "B002BB", "B002BB"), logits=logits)
    plates = read_plates(picture(), BOX, reader_of(infer))
    assert plates.readings[0].candidates[0][0] == text
    assert np.array_equal(plates.frames, np.array([[[58.0, 0, 150], [0, 18.5, 112.5]]]))


@pytest.mark.parametrize(
    ("factor", "message"),
    [(torch.nan, "finite theta, got NaN or infinity"), (1e30, r"theta up to 1000, got 1e\+30")],
)
def test_a_theta_that_no_plate_has_is_refused(factor: float, message: str) -> None:
    infer = ScriptedInfer(rows(), ("A001AA",), theta=IDENTITY * factor)
    with pytest.raises(ModelError, match=f"^stn: wanted a {message}$"):
        read_plates(picture(), BOX, reader_of(infer))


HIGH = np.array([[[50.0, 0, 150], [0, 40, 140]]], np.float32)


@pytest.mark.parametrize(
    ("frames", "score", "formats", "may_improve"),
    [
        pytest.param(UPRIGHT, 0.95, russian(), False, id="sure"),
        pytest.param(HIGH, 0.95, FLAT, False, id="high, where plates have one line"),
        pytest.param(UPRIGHT, 0.89, russian(), True, id="unsure"),
        pytest.param(UPRIGHT, 0.0, russian(), True, id="nothing read"),
        pytest.param(ASLANT, 0.95, russian(), True, id="aslant"),
        pytest.param(HIGH, 0.95, russian(), True, id="high, where plates may have two lines"),
    ],
)
def test_no_improvement_chooses_a_plate_that_may_not_gain(
    frames: np.ndarray, score: float, formats: Formats, may_improve: bool
) -> None:
    reader = reader_of(ScriptedInfer(rows()), formats)
    plates = PlateReadings(BOX, frames, np.empty(0), (Reading("", (), (("A001AA77", score),)),))
    improvements = (SECOND_PASS, THIRD_PASS, closer_look(lambda *_: ([], []), Settings()))
    choices = [improvement.choose(plates, reader) for improvement in improvements]
    assert may_gain(plates, reader) == may_improve == any(choices)
