"""Triton's calls and answers over gRPC, and the meaning of its errors."""

import json
import re
from email.message import Message
from io import BytesIO
from urllib.error import HTTPError

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
from orchestrator.serving.gateway.upstream.triton import (
    fault_of,
    page_fault_of,
    to_message,
    to_response,
)
from orchestrator.serving.protocol.inference import InferenceRequest, PictureFile, Tensor

PIXEL = Tensor("input__0", "UINT8", (1, 1, 3), b"\1\2\3")


def test_a_call_becomes_a_request() -> None:
    """A picture file is sent as a tensor of one element."""
    parameters = {"roi": "0,0,1,1", "max_plates": 3, "text_threshold": 0.5, "is": True}
    inputs = PIXEL, PictureFile("encoded_image", b"abc")
    call = InferenceRequest("plate_recognition", inputs, ("texts",), "1", "gate-7", parameters)
    request = pb.ModelInferRequest.FromString(to_message(call, "gate-7#1"))
    names = request.model_name, request.model_version, request.id
    assert names == ("plate_recognition", "1", "gate-7#1")
    assert [(tensor.name, tensor.datatype, [*tensor.shape]) for tensor in request.inputs] == [
        ("input__0", "UINT8", [1, 1, 3]),
        ("encoded_image", "BYTES", [1]),
    ]
    assert [*request.raw_input_contents] == [b"\1\2\3", b"\3\0\0\0abc"]
    assert [output.name for output in request.outputs] == ["texts"]
    kinds = [request.parameters[name].WhichOneof("parameter_choice") for name in parameters]
    assert [kind.removesuffix("_param") for kind in kinds] == [
        "string", "int64", "double", "bool"
    ]  # fmt: skip


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


@pytest.mark.parametrize("names", [(), ("texts", "corners"), ("corners",)])
def test_an_answer_to_another_call_is_not_passed_on(names: tuple[str, ...]) -> None:
    outputs = [pb.ModelInferResponse.InferOutputTensor(name=name) for name in names]
    response = pb.ModelInferResponse(outputs=outputs, raw_output_contents=[b""] * len(names))
    with pytest.raises(ServerError, match="away for a moment"):
        to_response(response, InferenceRequest("m", (), ("texts",)))


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
        pytest.param("UNAVAILABLE", "failed to connect: ipv4:127.0.0.1", ServerError, id="away"),
        pytest.param("INTERNAL", "Stub process 'x' is not healthy.", ServerError, id="dead worker"),
        pytest.param("INTERNAL", "yolo: wanted", ModelError, id="a network's"),
        pytest.param("INTERNAL", "unable to open /dev/shm/plates_17", ModelError, id="a file's"),
        pytest.param("UNKNOWN", "", ModelError, id="nobody knows"),
    ],
)
def test_triton_s_refusals_are_ours_and_tell_nothing_of_this_machine(
    code: str, words: str, kind: type[PlateError]
) -> None:
    fault = fault_of(failure(grpc.StatusCode[code], words), 60)
    assert type(fault) is kind
    assert not {"127", "shm"} & {*re.findall("127|shm", str(fault))}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        pytest.param("unknown model: 'yolo' has no available versions", ServerError, id="away"),
        pytest.param("unknown model: 'yolo' version 7 is not found", NotFound, id="no version"),
        pytest.param("", NotFound, id="no message"),
    ],
)
def test_a_model_whose_workers_are_replaced_is_away_over_http_too(
    message: str, kind: type[PlateError]
) -> None:
    body = BytesIO(json.dumps({"error": message}).encode())
    error = HTTPError("http://127.0.0.1/v2/models/yolo", 404, "Not Found", Message(), body)
    assert type(page_fault_of(error)) is kind


@pytest.mark.parametrize(
    ("seconds", "text"), [(60, "60"), (29.99999, "30"), (0.00064, "0.00064"), (3600, "3600")]
)
def test_a_late_answer_names_the_time_that_it_had(seconds: float, text: str) -> None:
    message = f"wanted an answer within {text} s, got none"
    assert str(DeadlineExceeded.after(seconds)) == message
