"""Triton's calls and answers over gRPC, and the meaning of its errors."""

import grpc
import pytest
from tritonclient.grpc import service_pb2 as pb

from orchestrator.errors import (
    Cancelled,
    ModelError,
    ParameterError,
    PictureError,
    PlateError,
    RequestError,
    ServerError,
)
from orchestrator.serving.gateway.errors import DeadlineExceeded, NotFound, ServiceFull
from orchestrator.serving.gateway.upstream.triton import fault_of, to_message, to_response
from orchestrator.serving.protocol.inference import InferenceRequest, PictureFile, Tensor

PIXEL = Tensor("input__0", "UINT8", (1, 1, 3), b"\1\2\3")


def test_a_call_becomes_a_request() -> None:
    parameters = {"roi": "0,0,1,1", "max_plates": 3, "text_threshold": 0.5, "is": True}
    call = InferenceRequest("plate_recognition", (PIXEL,), ("texts",), "1", "gate-7", parameters)
    request = pb.ModelInferRequest.FromString(to_message(call, "gate-7#1"))
    assert (request.model_name, request.model_version, request.id) == (
        "plate_recognition",
        "1",
        "gate-7#1",
    )
    assert [(i.name, i.datatype, [*i.shape]) for i in request.inputs] == [
        ("input__0", "UINT8", [1, 1, 3])
    ]
    assert [*request.raw_input_contents] == [b"\1\2\3"]
    assert [output.name for output in request.outputs] == ["texts"]
    assert {
        name: one.WhichOneof("parameter_choice") for name, one in request.parameters.items()
    } == {
        "roi": "string_param",
        "max_plates": "int64_param",
        "text_threshold": "double_param",
        "is": "bool_param",
    }


def test_a_picture_file_is_sent_as_a_tensor_of_one_element() -> None:
    call = InferenceRequest("m", (PictureFile("encoded_image", b"abc"), PIXEL))
    request = pb.ModelInferRequest.FromString(to_message(call, ""))
    tensor = request.inputs[0]
    assert (tensor.name, tensor.datatype, [*tensor.shape]) == ("encoded_image", "BYTES", [1])
    assert [*request.raw_input_contents] == [b"\3\0\0\0abc", b"\1\2\3"]


def test_a_response_of_triton_becomes_ours() -> None:
    output = pb.ModelInferResponse.InferOutputTensor(name="texts", datatype="BYTES", shape=[0, 1])
    response = pb.ModelInferResponse(
        model_name="m", model_version="1", id="7#1", outputs=[output], raw_output_contents=[b""]
    )
    call = InferenceRequest("m", (), id="7")
    answer = to_response(response, call)
    assert answer.outputs == (Tensor("texts", "BYTES", (0, 1), b""),)
    assert (answer.model, answer.version, answer.id) == ("m", "1", "7")
    assert answer.request is call


def test_an_output_without_its_bytes_is_refused() -> None:
    output = pb.ModelInferResponse.InferOutputTensor(name="texts")
    with pytest.raises(ModelError, match="wanted 1 outputs, got 0"):
        to_response(pb.ModelInferResponse(outputs=[output]), InferenceRequest("m", ()))


def failure(code: grpc.StatusCode, words: str) -> grpc.aio.AioRpcError:
    nothing = grpc.aio.Metadata()
    return grpc.aio.AioRpcError(code, nothing, nothing, details=words)


@pytest.mark.parametrize(
    ("code", "words", "kind"),
    [
        pytest.param("INVALID_ARGUMENT", "inputs: wanted", RequestError, id="the caller's"),
        pytest.param("INVALID_ARGUMENT", "roi: wanted", ParameterError, id="the parameter's"),
        pytest.param("INVALID_ARGUMENT", "encoded_image: damaged", PictureError, id="picture's"),
        pytest.param("NOT_FOUND", "unknown version", NotFound, id="no such version"),
        pytest.param("DEADLINE_EXCEEDED", "Deadline Exceeded", DeadlineExceeded, id="late"),
        pytest.param("CANCELLED", "", Cancelled, id="cancelled"),
        pytest.param("UNAVAILABLE", "Exceeds maximum queue size", ServiceFull, id="full"),
        pytest.param("UNAVAILABLE", "failed to connect", ServerError, id="not there"),
        pytest.param("INTERNAL", "Stub process 'x' is not healthy.", ServerError, id="dead worker"),
        pytest.param("INTERNAL", "yolo: wanted", ModelError, id="a network's"),
        pytest.param("UNKNOWN", "", ModelError, id="nobody knows"),
    ],
)
def test_triton_s_refusals_are_ours(code: str, words: str, kind: type[PlateError]) -> None:
    fault = fault_of(failure(grpc.StatusCode[code], words), 60)
    assert type(fault) is kind


def test_why_a_network_failed_is_not_told() -> None:
    words = "unable to open /dev/shm/plates_17"
    assert "shm" not in str(fault_of(failure(grpc.StatusCode.INTERNAL, words), 60))


def test_where_triton_listens_is_not_told() -> None:
    words = "failed to connect to ipv4:127.0.0.1:8001"
    assert "127" not in str(fault_of(failure(grpc.StatusCode.UNAVAILABLE, words), 60))
