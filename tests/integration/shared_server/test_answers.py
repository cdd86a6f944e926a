"""Answers of `plate_recognition` from a real Triton server, over HTTP and gRPC."""

import cv2
import numpy as np
import pytest
import torch

from orchestrator import PlateClient, Plates, load_networks, recognize
from orchestrator.contract import MODEL, OUTPUTS, from_arrays
from orchestrator.detection.boxes import iou
from tests.integration.conftest import GREY
from tests.samples import STREET, TEXTS
from workshop.rendering.scenery import Scene, scene


def png_of(picture: np.ndarray) -> bytes:
    return cv2.imencode(".png", picture)[1].tobytes()


def test_the_sample_street_is_read(client: PlateClient) -> None:
    assert client.recognize(STREET).texts == TEXTS


def test_a_plain_picture_has_no_plates_and_every_output_the_right_rank(wire, triton) -> None:
    answer = triton.infer(MODEL, [wire.pixels(GREY)])
    shapes = {name: answer.as_numpy(name).shape for name in OUTPUTS}
    assert shapes == {name: (0, *output.row_shape) for name, output in OUTPUTS.items()}


@pytest.fixture(scope="module")
def forty_plates() -> Scene:
    texts = [f"{'ABEKMHOPCTYX'[i % 12]}{i:03}MM{77 + i % 20}" for i in range(40)]
    return scene(texts, (1920, 1440), seed=5)


def test_forty_plates_in_one_picture_are_all_found(
    client: PlateClient, forty_plates: Scene
) -> None:
    street = forty_plates
    plates = client.recognize(street.picture)
    overlaps = iou(np.array([plate.xyxy for plate in plates], np.float32), street.xyxy)
    best, which = overlaps.max(1), overlaps.argmax(1)
    assert len(plates) == 40
    assert (best > 0.5).all()
    assert sorted(which.tolist()) == list(range(40))
    pairs = zip(plates, which.tolist(), strict=True)
    right = sum(plate.text == street.texts[index] for plate, index in pairs)
    assert right >= 36


def test_the_same_picture_as_tensor_and_as_file_gives_the_same_answer(client: PlateClient) -> None:
    bgr = scene(["A123BC77"], (800, 600), seed=2).picture
    assert client.recognize(png_of(bgr)) == client.recognize(bgr)


@pytest.fixture(scope="module")
def three_plates() -> tuple[np.ndarray, Plates]:
    """A picture, and the pipeline's answer in this process."""
    bgr = scene(["A123BC77", "M456OP199", "E777KX78"], (1280, 960), seed=4).picture
    return bgr, recognize(torch.from_numpy(bgr), load_networks())


def test_the_server_answers_what_the_pipeline_answers_in_process(
    client: PlateClient, three_plates: tuple[np.ndarray, Plates]
) -> None:
    bgr, local = three_plates
    answer = client.recognize(bgr)
    assert answer.texts == local.texts
    for ours, theirs in zip(answer, local, strict=True):
        assert ours.xyxy == pytest.approx(theirs.xyxy, abs=0.05)
        assert ours.text_score == pytest.approx(theirs.text_score, abs=1e-3)
        assert np.allclose(ours.corners, theirs.corners, atol=0.1)


def test_parameters_override_settings_for_one_request(client: PlateClient) -> None:
    street = scene(["A123BC77", "M456OP199"], (1280, 960), seed=3)
    assert len(client.recognize(street.picture, max_plates=1)) == 1
    plates = client.recognize(street.picture, text_threshold=1.0)
    assert [plate.text for plate in plates] == ["", ""]
    assert len(client.recognize(street.picture, detection_threshold=1.0)) == 0
    x0, y0, x1, y1 = street.xyxy[0].tolist()
    around = (x0 - 100, y0 - 100, x1 + 100, y1 + 100)
    assert client.recognize(street.picture, roi=around).texts == [street.texts[0]]
    assert len(client.recognize(street.picture)) == 2


def test_a_caller_that_looks_more_closely_finds_smaller_plates(client: PlateClient) -> None:
    street = cv2.imread(str(STREET))  # 1280 x 960, its plates some 200 pixels wide
    small = cv2.resize(street, (320, 240), interpolation=cv2.INTER_AREA)
    far = cv2.copyMakeBorder(small, 800, 880, 1000, 1240, cv2.BORDER_REFLECT)
    roi = (1000, 800, 1320, 1040)
    counts = [len(client.recognize(far, detector_side_px=side)) for side in (320, 1920)]
    assert counts[0] < counts[1]
    assert len(client.recognize(far, roi=roi)) == 3


@pytest.mark.parametrize("size_hw", [(1, 1), (1, 5000), (5000, 1)])
def test_a_picture_of_an_odd_size_is_answered(client: PlateClient, size_hw) -> None:
    assert len(client.recognize(np.full((*size_hw, 3), 90, np.uint8))) == 0


def test_what_the_protocol_adds_to_a_request_is_no_unknown_parameter(wire, triton) -> None:
    answer = triton.infer(
        MODEL,
        [wire.pixels(GREY)],
        request_id="gate-7",
        priority=1,
        timeout=60_000_000,
    )
    assert answer.as_numpy("texts").shape == (0, 1)


@pytest.mark.parametrize("wire", ["http"], indirect=True)
def test_answers_survive_json(wire, triton) -> None:
    """With binary_data=False, texts are str; the plates are the same."""
    outputs = [wire.module.InferRequestedOutput(name, binary_data=False) for name in OUTPUTS]
    bgr = scene(["A123BC77"], (800, 600), seed=2).picture
    answer = triton.infer(MODEL, [wire.pixels(bgr)], outputs=outputs)
    plates = from_arrays({name: answer.as_numpy(name) for name in OUTPUTS})
    assert plates.texts == ["A123BC77"]
