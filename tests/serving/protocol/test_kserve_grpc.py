"""Infer calls and answers over gRPC."""

import numpy as np
import pytest
from tritonclient.grpc import InferResult
from tritonclient.grpc import service_pb2 as pb

from orchestrator.errors import RequestError
from orchestrator.serving.protocol.bytes_tensors import encode
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, Tensor
from orchestrator.serving.protocol.kserve_grpc import parse_request, to_call, to_response

MODEL = "plate_recognition"
Input = pb.ModelInferRequest.InferInputTensor
Output = pb.ModelInferRequest.InferRequestedOutputTensor
SHARED = {"shared_memory_region": pb.InferParameter(string_param="x")}
EMPTY = pb.InferTensorContents()
UNSIGNED = {"a": pb.InferParameter(uint64_param=1)}
MIB = 1024 * 1024


def tensor(**changes: object) -> Input:
    return Input(**({"name": "input__0", "datatype": "UINT8", "shape": [1, 2, 3]} | changes))


def request(**changes: object) -> pb.ModelInferRequest:
    usual = {"model_name": MODEL, "inputs": [tensor()], "raw_input_contents": [b"123456"]}
    return pb.ModelInferRequest(**(usual | changes))


def typed_request(datatype: str, shape: list[int], **contents: object) -> pb.ModelInferRequest:
    typed_contents = pb.InferTensorContents(**contents)
    inputs = [tensor(datatype=datatype, shape=shape, contents=typed_contents)]
    return request(inputs=inputs, raw_input_contents=[])


def make_field(number: int, content: bytes = b"") -> bytes:
    """Return a field of a message, with up to 127 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def test_raw_contents_are_the_inputs() -> None:
    inputs = [tensor(), Input(name="b", datatype="BYTES", shape=[1])]
    call = to_call(request(inputs=inputs, raw_input_contents=[b"123456", b"78"]), {})
    assert call == InferenceRequest(
        MODEL,
        (Tensor("input__0", "UINT8", (1, 2, 3), b"123456"), Tensor("b", "BYTES", (1,), b"78")),
    )


def test_everything_beside_the_inputs_is_read() -> None:
    values = {"string_param": "0,0", "int64_param": 3, "double_param": 0.5, "bool_param": True}
    parameters = {name: pb.InferParameter(**{name: value}) for name, value in values.items()}
    outputs = [Output(name="texts"), Output(name="corners")]
    message = request(model_version="1", id="7", outputs=outputs, parameters=parameters)
    call = to_call(message, {"traceparent": "00-1"})
    assert (call.version, call.id, call.outputs) == ("1", "7", ("texts", "corners"))
    assert (call.parameters, call.trace) == (values, {"traceparent": "00-1"})


@pytest.mark.parametrize(
    ("message", "content"),
    [
        (typed_request("UINT8", [0, 1, 3]), b""),
        (typed_request("UINT8", [2], uint_contents=[0, 255]), b"\0\xff"),
        (typed_request("BYTES", [1], bytes_contents=[b"\xff\xd8"]), encode([b"\xff\xd8"])),
    ],
    ids=["nothing", "numbers", "a file"],
)
def test_contents_may_be_typed(message: pb.ModelInferRequest, content: bytes) -> None:
    assert to_call(message, {}).inputs[0].data == content


@pytest.mark.parametrize(
    ("wrong_request", "message"),
    [
        (request(raw_input_contents=[b"", b""]), "each of 1 inputs, got 2"),
        (request(inputs=[tensor(contents=EMPTY)]), "contents or raw_input_contents, got both"),
        (request(inputs=[tensor(parameters=SHARED)]), "no parameters .* 'shared_memory_region'"),
        (
            request(outputs=[Output(name="texts", parameters=SHARED)]),
            "output 'texts': wanted no parameters of a tensor",
        ),
        (request(inputs=[tensor(shape=[-1, -6, 1])]), "wanted no negative sizes"),
        (request(id="x" * 9999), "id: wanted up to 256"),
        (request(parameters={"a": pb.InferParameter()}), "'a': .* got none"),
        (request(parameters=UNSIGNED), "'a': wanted a text, a number, .* got uint64_param"),
        (typed_request("FP16", [1], fp32_contents=[1]), "BYTES in contents, got 'FP16'"),
        (typed_request("UINT8", [1], int_contents=[1]), "wanted uint_contents alone, got int_con"),
        (typed_request("UINT8", [1], uint_contents=[1], bool_contents=[True]), "alone, got bool_"),
        (typed_request("UINT8", [1], uint_contents=[256]), "wanted data that fits UINT8"),
        (typed_request("UINT8", [3], uint_contents=[1]), "wanted 3 elements .* got 1"),
        (typed_request("UINT8", [2**62] * 300, uint_contents=[1]), "to 8 dimensions, got 300"),
    ],
)
def test_a_request_that_is_not_understood_is_refused(
    wrong_request: pb.ModelInferRequest, message: str
) -> None:
    with pytest.raises(RequestError, match=message) as raised:
        to_call(wrong_request, {})
    assert len(str(raised.value)) < 200


def test_a_message_is_read_as_it_was_sent() -> None:
    message = request(outputs=[Output(name="texts")], raw_input_contents=[bytes(MIB)])
    assert parse_request(message.SerializeToString()) == message
    assert parse_request(b"") == pb.ModelInferRequest()


LARGE = typed_request("UINT8", [4 * MIB], uint_contents=[0] * 4 * MIB).SerializeToString()
MUCH = "wanted up to 4194304 bytes beside raw_input_contents"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        pytest.param(b"\xff" * 100, "got other bytes", id="junk"),
        pytest.param(b"\x08\1", "got other bytes", id="a number"),
        pytest.param(make_field(1, b"abc")[:-1], "got other bytes", id="cut"),
        pytest.param(make_field(1, b"abc")[:1], "got other bytes", id="cut in a length"),
        pytest.param(make_field(1, b"\xff"), "wanted a ModelInferRequest", id="no text"),
        pytest.param(make_field(6) * 84, "wanted up to 83 fields, got more", id="outputs"),
        pytest.param(request(id="x" * 4 * MIB).SerializeToString(), MUCH, id="long id"),
        pytest.param(LARGE, MUCH, id="typed"),
    ],
)
def test_bytes_that_are_no_message_or_become_much_memory_are_refused(
    message: bytes, words: str
) -> None:
    with pytest.raises(RequestError, match=words):
        parse_request(message)


def test_tritonclient_reads_an_answer() -> None:
    boxes = np.arange(8, dtype="<f4").reshape(2, 4)
    outputs = (
        Tensor("coordinates", "FP32", (2, 4), boxes.tobytes()),
        Tensor("texts", "BYTES", (2, 1), encode([b"A001AA77", b""])),
        Tensor("corners", "FP32", (0, 4, 2), b""),
    )
    response = to_response(InferenceResponse(MODEL, "1", "7", outputs))
    assert (response.model_name, response.model_version, response.id) == (MODEL, "1", "7")
    result = InferResult(response)
    assert np.array_equal(result.as_numpy("coordinates"), boxes)
    assert result.as_numpy("texts").tolist() == [[b"A001AA77"], [b""]]
    assert result.as_numpy("corners").shape == (0, 4, 2)
