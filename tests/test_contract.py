"""The tensors in config.pbtxt are those of the code."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from orchestrator import contract
from orchestrator.errors import ModelError, ParameterError, PictureError, RequestError
from orchestrator.formats.plate_formats import russian
from orchestrator.plates import Plate, PlateCountry, PlateRegion, Plates
from orchestrator.serving.supervisor.models.plate_models import REPOSITORY
from orchestrator.settings import Settings

PLATE = Plate(
    xyxy=(1.0, 2.0, 3.0, 4.0),
    detection_score=0.75,
    text="A001AA77",
    text_score=0.5,
    raw_text="A001AA7",
    character_scores=(0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5),
    candidates=(("A001AA77", 0.5), ("A001AA71", 0.25)),
    corners=((1.0, 2.0), (3.0, 2.0), (3.0, 4.0), (1.0, 4.0)),
    format="ru_car",
    region=PlateRegion("77", "Moscow"),
)
"""Every score has an exact float32, so that what comes back is equal."""


def config_of(name: str) -> model_config_pb2.ModelConfig:
    text = Path(REPOSITORY, name, "config.pbtxt").read_text()
    return text_format.Parse(text, model_config_pb2.ModelConfig())


def tensors(entries) -> dict[str, tuple[str, list[int]]]:
    kind = model_config_pb2.DataType.Name
    return {entry.name: (kind(entry.data_type), list(entry.dims)) for entry in entries}


def test_plate_recognition_has_the_outputs_of_the_code() -> None:
    kinds = {np.float32: "TYPE_FP32", np.object_: "TYPE_STRING"}
    expected = {
        name: (kinds[output.dtype], [-1, *output.row_shape])
        for name, output in contract.OUTPUTS.items()
    }
    expected[contract.STAGE_SECONDS] = ("TYPE_FP32", [len(contract.STAGES)])
    assert tensors(config_of(contract.MODEL).output) == expected


@pytest.mark.parametrize("model", [contract.PLATE_READER, contract.DECODE])
def test_crops_are_answered_like_pictures(model: str) -> None:
    of_a_picture = tensors(config_of(contract.MODEL).output)
    expected = {name: of_a_picture[name] for name in contract.OF_A_READING}
    assert tensors(config_of(model).output) == expected


def test_the_seconds_of_stages_are_told_by_their_names() -> None:
    seconds = np.arange(len(contract.STAGES), dtype=np.float32)
    stages = contract.stages_of({contract.STAGE_SECONDS: seconds})
    assert (stages["picture"], stages["yolo"], stages["texts"]) == (0.0, 2.0, 6.0)


@pytest.mark.parametrize(
    ("arrays", "got"),
    [
        pytest.param({}, "got none", id="missing"),
        pytest.param({contract.STAGE_SECONDS: np.zeros(3, np.float32)}, r"got .*\[3\]", id="short"),
        pytest.param({contract.STAGE_SECONDS: np.zeros(7)}, "got float64", id="type"),
    ],
)
def test_other_seconds_of_stages_are_refused(arrays: contract.Arrays, got: str) -> None:
    with pytest.raises(ModelError, match=got):
        contract.stages_of(arrays)


def test_the_steps_of_plate_reader_fit_one_another() -> None:
    config = config_of(contract.PLATE_READER)
    steps = config.ensemble_scheduling.step
    assert tensors(config.input) == {contract.CROP: ("TYPE_UINT8", [-1, -1, 3])}
    assert [step.model_name for step in steps] == [
        "plate_reader_prepare",
        "stn",
        "lprnet",
        "plate_reader_decode",
    ]
    assert tensors(config_of(contract.PREPARE).input) == {
        contract.INPUT: ("TYPE_UINT8", [-1, -1, 3])
    }
    assert tensors(config_of(contract.PREPARE).output) == {
        contract.OUTPUT: ("TYPE_FP32", [1, 3, 24, 94])
    }
    assert tensors(config_of(contract.DECODE).input) == {
        contract.LOGITS: ("TYPE_FP32", [-1, 24, 18])
    }


def test_plate_recognition_takes_a_picture_or_a_file() -> None:
    config = config_of(contract.MODEL)
    assert tensors(config.input) == {
        contract.PICTURE: ("TYPE_UINT8", [-1, -1, 3]),
        contract.ENCODED: ("TYPE_STRING", [1]),
        contract.ENCODED_CROP: ("TYPE_STRING", [1]),
    }
    assert all(entry.optional for entry in config.input)
    assert config.max_batch_size == 0
    assert config.backend == "python"


@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        (
            "yolo",
            {contract.INPUT: ("TYPE_UINT8", [-1, -1, 3])},
            {contract.OUTPUT: ("TYPE_FP32", [-1, 6])},
        ),
        (
            "stn",
            {contract.INPUT: ("TYPE_FP32", [3, 24, 94])},
            {
                contract.OUTPUT: ("TYPE_FP32", [3, 24, 94]),
                contract.THETA: ("TYPE_FP32", [2, 3]),
            },
        ),
        (
            "lprnet",
            {contract.INPUT: ("TYPE_FP32", [3, 24, 94])},
            {contract.OUTPUT: ("TYPE_FP32", [russian().classes, 18])},
        ),
    ],
)
def test_component_models_have_the_tensors_of_the_contract(name, inputs, outputs) -> None:
    config = config_of(name)
    assert config.name in {"", name}
    assert config.backend == "pytorch"
    assert tensors(config.input) == inputs
    assert tensors(config.output) == outputs


@pytest.mark.parametrize("name", ["stn", "lprnet"])
def test_chunks_fit_the_batch_of_the_models(name: str) -> None:
    assert config_of(name).max_batch_size == contract.MAX_BATCH


def test_the_configured_settings_are_the_defaults_of_the_code() -> None:
    parameters = {
        name: {"string_value": value.string_value}
        for name, value in config_of(contract.MODEL).parameters.items()
    }
    assert Settings.from_config(parameters) == Settings()


def test_plates_survive_the_way_to_arrays_and_back() -> None:
    plates = Plates((PLATE, Plate(xyxy=(0.0, 0.0, 1.0, 1.0), corners=PLATE.corners)))
    assert contract.from_arrays(contract.to_arrays(plates)) == plates


def test_the_region_of_an_answer_is_told_by_its_text_and_format() -> None:
    plates = Plates((replace(PLATE, region=None), replace(PLATE, text="A001AA00")))
    regions = [plate.region for plate in contract.from_arrays(contract.to_arrays(plates))]
    assert regions == [PlateRegion("77", "Moscow"), None]


def test_scores_of_more_characters_than_a_plate_has_are_cut() -> None:
    long = replace(PLATE, raw_text="1" * 12, character_scores=(0.5,) * 8 + (0.25,) * 4)
    (plate,) = contract.from_arrays(contract.to_arrays(Plates((long,))))
    assert plate.character_scores == long.character_scores[: contract.MAX_LENGTH]


@pytest.mark.parametrize("request_id", ["", "gate-7", "a#b", "a#1f-2x", "a#1f-2#3-4x"])
def test_the_mark_of_a_request_id_is_told_and_removed(request_id: str) -> None:
    marked_id = f"{request_id}#1f-20"
    assert (contract.mark_of(marked_id), contract.unmark(marked_id)) == ("#1f-20", request_id)
    assert (contract.mark_of(request_id), contract.unmark(request_id)) == ("", request_id)


EVERY_OUTPUT = tuple(contract.EVERY_OUTPUT)
ABROAD = replace(PLATE, country=PlateCountry("kz", 0.5))


def test_the_country_of_a_plate_comes_back_where_the_model_tells_it() -> None:
    plates = Plates((ABROAD, PLATE))
    arrays = contract.to_arrays(plates, EVERY_OUTPUT)
    assert arrays["countries"].tolist() == [[b"kz"], [b""]]
    assert arrays["country_scores"].tolist() == [[0.5], [0.0]]
    assert contract.from_arrays(arrays) == contract.from_arrays(arrays, EVERY_OUTPUT) == plates
    assert contract.from_arrays(contract.to_arrays(plates)) == Plates((PLATE, PLATE))
    with pytest.raises(ModelError, match="none named countries"):
        contract.from_arrays(contract.to_arrays(plates), EVERY_OUTPUT)


def test_no_plates_have_the_right_rank() -> None:
    for name, array in contract.to_arrays(Plates(), EVERY_OUTPUT).items():
        assert array.shape == (0, *contract.EVERY_OUTPUT[name].row_shape)


def test_only_the_named_outputs_are_made() -> None:
    assert set(contract.to_arrays(Plates((PLATE,)), ["texts"])) == {"texts"}


def test_texts_may_come_as_str_where_the_answer_was_json() -> None:
    arrays = contract.to_arrays(Plates((PLATE,)))
    arrays["texts"] = np.array([["A001AA77"]], dtype=np.object_)
    assert contract.from_arrays(arrays)[0].text == "A001AA77"


def test_an_answer_without_an_output_is_refused() -> None:
    arrays = contract.to_arrays(Plates())
    del arrays["formats"]
    with pytest.raises(ModelError, match="none named formats"):
        contract.from_arrays(arrays)


def broken(name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    return contract.to_arrays(Plates((PLATE,))) | {name: array}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        pytest.param(
            broken("corners", np.zeros((1, 8), np.float32)),
            r"wanted corners as float32 \[1, 4, 2\], got float32 \[1, 8\]",
            id="shape",
        ),
        pytest.param(
            broken("text_scores", np.zeros((1, 1), np.int64)),
            r"wanted text_scores as float32 \[1, 1\], got int64 \[1, 1\]",
            id="type",
        ),
        pytest.param(
            broken("formats", np.zeros((0, 1), object)),
            r"wanted formats as object \[1, 1\], got object \[0, 1\]",
            id="fewer-rows",
        ),
        pytest.param(
            broken("coordinates", np.float32(3)), "wanted coordinates as .*, got", id="scalar"
        ),
        pytest.param(
            broken("texts", np.array([[b"\xff"]], object)), "in UTF-8, got other bytes", id="bytes"
        ),
        pytest.param(
            broken("texts", np.array([[7]], object)), "wanted texts, got int", id="number"
        ),
    ],
)
def test_an_answer_with_an_output_of_another_kind_is_refused(arrays, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        contract.from_arrays(arrays)


@pytest.mark.parametrize(
    ("names", "outputs"),
    [
        pytest.param([], ("coordinates",), id="none"),
        pytest.param(["texts"], ("coordinates", "texts"), id="one"),
        pytest.param(
            ["character_scores"],
            ("coordinates", "raw_texts", "character_scores"),
            id="scores of characters",
        ),
        pytest.param(["candidates"], ("coordinates", "candidates", "candidate_scores"), id="pairs"),
        pytest.param(["countries"], ("coordinates", "countries", "country_scores"), id="countries"),
        pytest.param(contract.OUTPUTS, tuple(contract.OUTPUTS), id="all"),
    ],
)
def test_outputs_are_completed_by_what_they_need(names, outputs) -> None:
    assert contract.complete(names) == outputs


def test_an_unknown_output_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"outputs: wanted some of coordinates, .*, got text$"):
        contract.complete(["text"])


def test_a_part_of_a_plate_that_was_not_asked_for_stays_empty() -> None:
    names = contract.complete(["texts"])
    arrays = contract.to_arrays(Plates((PLATE,)), names)
    assert contract.from_arrays(arrays, names) == Plates((Plate(PLATE.xyxy, text=PLATE.text),))


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        pytest.param("encoded_image: damaged JPEG", PictureError, id="a damaged picture"),
        pytest.param("input__0: wanted UINT8", PictureError, id="pixels"),
        pytest.param("roi: wanted a part of the 4x4 picture", ParameterError, id="a parameter"),
        pytest.param("parameters: wanted some of roi", ParameterError, id="an unknown parameter"),
        pytest.param("[request id: 7] max_plates: wanted 1", ParameterError, id="with an id"),
        pytest.param("inputs: wanted exactly one", RequestError, id="anything else"),
        pytest.param("", RequestError, id="nothing"),
    ],
)
def test_the_class_of_a_rejection_stands_in_its_message(
    message: str, kind: type[RequestError]
) -> None:
    assert contract.rejection_kind(message) is kind
