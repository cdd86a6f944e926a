"""Answers over HTTP, as tritonclient reads them."""

import json

import numpy as np
import pytest
from tritonclient.http import (
    InferResult,
)

from orchestrator.errors import ModelError
from orchestrator.serving.protocol.bytes_tensors import encode
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, Tensor
from orchestrator.serving.protocol.kserve_http import (
    JSON_SIZE,
    HttpInferenceRequest,
    error_body,
    render,
)
from tests.serving.gateway.kserve_calls import MODEL

TEXTS = Tensor("texts", "BYTES", (2, 1), encode([b"A001AA77", b""]))
BOXES = Tensor("coordinates", "FP32", (2, 4), np.arange(8, dtype="<f4").tobytes())
SCORES = Tensor("text_scores", "FP32", (2, 1), np.array([0.1, 1 / 3], "<f4").tobytes())
CALL = InferenceRequest(MODEL, ())


def answered(
    request: HttpInferenceRequest, *outputs: Tensor, id: str = ""
) -> tuple[InferResult, dict]:
    """Return the result that tritonclient reads from an answer, and the answer's headers."""
    body, headers = render(InferenceResponse(MODEL, "1", id, outputs), request)
    return InferResult.from_response_body(body, header_length=headers.get(JSON_SIZE)), headers


class TestAnswer:
    def test_json_alone(self) -> None:
        body, headers = render(
            InferenceResponse(MODEL, "1", "7", (TEXTS,)), HttpInferenceRequest(CALL)
        )
        assert headers == {"Content-Type": "application/json"}
        assert json.loads(body) == {
            "model_name": MODEL,
            "model_version": "1",
            "id": "7",
            "outputs": [
                {"name": "texts", "datatype": "BYTES", "shape": [2, 1], "data": ["A001AA77", ""]}
            ],
        }

    def test_a_call_without_an_id_is_answered_without(self) -> None:
        body, _ = render(InferenceResponse(MODEL, "1", "", ()), HttpInferenceRequest(CALL))
        assert json.loads(body) == {"model_name": MODEL, "model_version": "1", "outputs": []}

    @pytest.mark.parametrize(
        ("binary", "kind", "texts"),
        [
            pytest.param(True, "application/octet-stream", [b"A001AA77", b""], id="bytes"),
            pytest.param(False, "application/json", ["A001AA77", ""], id="JSON"),
        ],
    )
    def test_tritonclient_reads_it(self, binary: bool, kind: str, texts: list) -> None:
        result, headers = answered(
            HttpInferenceRequest(CALL, {}, binary), BOXES, TEXTS, SCORES, id="9"
        )
        assert result.get_response()["id"] == "9"
        assert np.array_equal(result.as_numpy("coordinates"), np.arange(8).reshape(2, 4))
        assert result.as_numpy("text_scores").tobytes() == SCORES.data
        assert result.as_numpy("texts").ravel().tolist() == texts
        assert headers["Content-Type"] == kind

    @pytest.mark.parametrize("binary", [True, False])
    def test_no_plates(self, binary: bool) -> None:
        result, _ = answered(
            HttpInferenceRequest(CALL, {}, binary),
            Tensor("texts", "BYTES", (0, 1), b""),
            Tensor("coordinates", "FP32", (0, 4), b""),
        )
        assert result.as_numpy("texts").shape == (0, 1)
        assert result.as_numpy("coordinates").shape == (0, 4)

    def test_each_output_in_its_form(self) -> None:
        result, headers = answered(HttpInferenceRequest(CALL, {"texts": False}, True), TEXTS, BOXES)
        assert result.get_output("texts")["data"] == ["A001AA77", ""]
        assert result.get_output("coordinates")["parameters"] == {"binary_data_size": 32}
        assert np.array_equal(result.as_numpy("coordinates"), np.arange(8).reshape(2, 4))
        assert headers["Content-Type"] == "application/octet-stream"

    def test_numbers_are_as_short_as_they_can_be(self) -> None:
        body, _ = render(InferenceResponse(MODEL, "1", "", (SCORES,)), HttpInferenceRequest(CALL))
        assert b'"data":[0.1,0.33333334]' in body

    @pytest.mark.parametrize(
        ("output", "message"),
        [
            pytest.param(Tensor("texts", "BYTES", (1,), encode([b"\xff"])), "in UTF-8", id="utf"),
            pytest.param(Tensor("texts", "BYTES", (1,), b"\xff"), "behind their", id="elements"),
            pytest.param(Tensor("a", "FP32", (2,), b"1234"), "got 4 bytes of FP32", id="fewer"),
            pytest.param(Tensor("a", "FP32", (1,), b"123"), "got 3 bytes of FP32", id="part"),
            pytest.param(Tensor("a", "BF16", (1,), b"12"), "got 2 bytes of BF16", id="type"),
        ],
    )
    def test_a_wrong_output_is_the_models_fault(self, output: Tensor, message: str) -> None:
        with pytest.raises(ModelError, match=message):
            render(InferenceResponse(MODEL, "1", "", (output,)), HttpInferenceRequest(CALL))


def test_an_error_is_what_tritonclient_looks_for() -> None:
    assert json.loads(error_body('no "such" model')) == {"error": 'no "such" model'}
