"""The last step of the ensemble: from logits to texts."""

from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

from orchestrator.contract import OF_A_READING
from orchestrator.formats.plate_formats import russian
from orchestrator.networks.weights import WEIGHTS
from tests.triton.fake_triton import arrays_of, read_config

TEXT = "A123BC77"
STEPS = 18


def logits_of(text: str) -> np.ndarray:
    """Logits that are sure of a text whose neighbours differ."""
    alphabet = russian().alphabet
    logits = np.zeros((len(alphabet) + 1, STEPS), np.float32)
    classes = [alphabet.index(character) for character in text]
    steps = [step for index in classes for step in (index, len(alphabet))]
    steps += [len(alphabet)] * (STEPS - len(steps))
    logits[steps, np.arange(STEPS)] = 20
    return logits


@pytest.fixture
def model(triton: ModuleType):
    worker = import_module("orchestrator.triton.plate_reader").TritonPythonModel()
    config = read_config("plate_reader_decode")
    place = {"model_repository": str(WEIGHTS.parent), "model_version": WEIGHTS.name}
    worker.initialize({"model_config": config, **place})  # there lies what plates may say
    return worker


@pytest.fixture
def request_of(triton):
    def make(logits: np.ndarray, outputs=OF_A_READING, parameters=None):
        return triton.InferenceRequest(
            inputs=[triton.Tensor("logits", logits)],
            requested_output_names=outputs,
            parameters=parameters,
        )

    return make


def test_every_output_of_a_reading_is_given(model, request_of) -> None:
    (response,) = model.execute([request_of(logits_of(TEXT)[None])])
    answer = arrays_of(response)
    assert tuple(answer) == OF_A_READING
    assert answer["texts"] == answer["raw_texts"] == [[TEXT.encode()]]
    assert answer["formats"] == [[b"ru_car"]]
    assert answer["text_scores"][0][0] == pytest.approx(1, abs=1e-3)


def test_logits_of_several_plates_are_rows_of_what_is_asked_for(model, request_of) -> None:
    logits = np.stack([logits_of(TEXT), logits_of("M456OP19")])
    (response,) = model.execute([request_of(logits, ("texts",))])
    assert arrays_of(response) == {"texts": [[b"A123BC77"], [b"M456OP19"]]}


def test_a_text_below_the_requests_threshold_is_not_shown(model, request_of) -> None:
    request = request_of(logits_of(TEXT)[None], ("texts", "raw_texts"), {"text_threshold": 1})
    (response,) = model.execute([request])
    assert arrays_of(response) == {"texts": [[b""]], "raw_texts": [[TEXT.encode()]]}


def test_a_request_that_is_wrong_fails_alone(model, request_of, triton) -> None:
    good = request_of(logits_of(TEXT)[None], ("texts",))
    wrong = request_of(logits_of(TEXT)[None], parameters={"roi": "0,0,1,1"})
    rejection, answer = model.execute([wrong, good])
    assert rejection.error().code() == triton.TritonError.INVALID_ARG
    assert "wanted some of text_threshold, got roi" in rejection.error().message()
    assert arrays_of(answer) == {"texts": [[TEXT.encode()]]}


def test_logits_that_are_none_are_the_readers_fault(model, request_of, triton, capfd) -> None:
    (response,) = model.execute([request_of(np.full((1, 23, STEPS), np.nan, np.float32))])
    assert response.error().code() == triton.TritonError.INTERNAL
    assert '"reason": "model"' in capfd.readouterr().err
