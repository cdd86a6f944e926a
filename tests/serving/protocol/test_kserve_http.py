"""Infer calls and answers over HTTP, for tritonclient and for others."""

import json
import pickle

import numpy as np
import pytest
from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput, InferResult

from orchestrator.errors import ModelError, RequestError
from orchestrator.serving.protocol.bytes_tensors import encode
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, Tensor
from orchestrator.serving.protocol.kserve_http import (
    JSON_SIZE,
    HttpInferenceRequest,
    error_body,
    parse,
    render,
)

MODEL = "plate_recognition"
PIXELS = bytes(range(18))
PICTURE = np.frombuffer(PIXELS, np.uint8).reshape(2, 3, 3)
FILE = b"\xff\xd8 a file"


def make_input(array: np.ndarray, name: str, binary: bool = True) -> InferInput:
    datatype = "BYTES" if array.dtype == np.object_ else "UINT8"
    return InferInput(name, [*array.shape], datatype).set_data_from_numpy(array, binary_data=binary)


def parse_client_request(*inputs: InferInput, **arguments) -> HttpInferenceRequest:
    """Return the parsed request of a call that tritonclient makes."""
    body, json_size = InferenceServerClient.generate_request_body(list(inputs), **arguments)
    return parse(MODEL, "", body, json_size, {})


def parse_json(**members: object) -> HttpInferenceRequest:
    """Return the parsed request of a call in JSON."""
    return parse(MODEL, "", json.dumps(members).encode(), None, {})


def tensor(**changes: object) -> dict[str, object]:
    picture = {"name": "input__0", "datatype": "UINT8", "shape": [1, 2, 3], "data": [0] * 6}
    return {name: value for name, value in (picture | changes).items() if value is not None}


def test_inputs_of_tritonclient_are_those_of_the_call() -> None:
    file, text = (np.array([content], np.object_) for content in (FILE, b"/9j/text"))
    request = parse_client_request(
        make_input(PICTURE, "a"),
        make_input(PICTURE, "b", binary=False),
        make_input(file, "c"),
        make_input(text, "d", binary=False),
        make_input(np.empty((0, 3, 3), np.uint8), "e"),
    )
    assert request.is_binary  # without outputs, all are wanted as bytes
    assert request.call == InferenceRequest(
        MODEL,
        (
            Tensor("a", "UINT8", (2, 3, 3), PIXELS),
            Tensor("b", "UINT8", (2, 3, 3), PIXELS),
            Tensor("c", "BYTES", (1,), encode([FILE])),
            Tensor("d", "BYTES", (1,), encode([b"/9j/text"])),
            Tensor("e", "UINT8", (0, 3, 3), b""),
        ),
    )


def test_outputs_id_and_parameters_of_tritonclient_are_those_of_the_call() -> None:
    parameters = {"roi": "0,0,1,1", "max_plates": 3, "text_threshold": 0.5, "flag": True}
    request = parse_client_request(
        make_input(PICTURE, "input__0"),
        outputs=[InferRequestedOutput("texts"), InferRequestedOutput("corners", False)],
        request_id="7",
        parameters=parameters,
        timeout=1000,
    )
    assert (request.call.outputs, request.call.id) == (("texts", "corners"), "7")
    assert (request.binary, request.is_binary) == ({"texts": True, "corners": False}, False)
    assert request.call.parameters == parameters | {"timeout": 1000}
    assert request.call.parameters["flag"] is True


def test_classes_and_nobodys_memory_are_refused() -> None:
    shared = InferRequestedOutput("texts")
    shared.set_shared_memory("region", 9)
    for output, name in [
        (InferRequestedOutput("texts", class_count=3), "classification"),
        (shared, "shared_memory_byte_size"),
    ]:
        with pytest.raises(RequestError, match=f"of binary_data, got '{name}'"):
            parse_client_request(make_input(PICTURE, "input__0"), outputs=[output])
    shared_input = InferInput("input__0", [2, 3, 3], "UINT8").set_shared_memory("region", 18)
    with pytest.raises(RequestError, match="of binary_data_size, got 'shared_memory_byte_"):
        parse_client_request(shared_input)


def test_a_request_goes_to_another_process_and_back() -> None:
    body = json.dumps({"inputs": [tensor()], "outputs": [{"name": "texts"}], "id": "1"}).encode()
    request = parse(MODEL, "1", body, len(body), {"traceparent": "00-1"})
    assert pickle.loads(pickle.dumps(request)) == request
    assert (request.call.version, request.call.trace) == ("1", {"traceparent": "00-1"})
    assert (dict(request.binary), request.is_binary) == ({}, False)  # as KServe has it
    output = {"name": "texts", "parameters": {"binary_data": False}}
    parameters = {"binary_data_output": True}
    request = parse_json(inputs=[tensor()], outputs=[output], parameters=parameters)
    assert (request.binary, request.is_binary) == ({"texts": False}, True)


@pytest.mark.parametrize(
    ("shape", "data", "content"),
    [
        ([0, 1, 3], [], b""),
        ([1, 2, 3], [1, 2, 3, 4, 5, 255], b"\1\2\3\4\5\xff"),
        ([1, 2, 3], [[[1, 2, 3], [4, 5, 6]]], b"\1\2\3\4\5\6"),
        ([2, 0, 3], [[], []], b""),
    ],
)
def test_data_is_flat_or_nested(shape: list[int], data: list, content: bytes) -> None:
    (parsed_input,) = parse_json(inputs=[tensor(shape=shape, data=data)]).call.inputs
    assert parsed_input.data == content


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": [0] * 5}, "wanted 6 elements by its shape, got 5"),
        ({"data": [[[0] * 3], [[0] * 3]]}, "or nested as its shape"),
        ({"data": [[[0] * 2, [0] * 4]]}, "or nested as its shape"),
        ({"data": [[0, [0] * 5]]}, "or nested as its shape"),
        ({"data": [[[[0] * 3, [0] * 3]]]}, "or nested as its shape"),
        ({"data": [0, [0] * 5]}, "wanted 6 elements"),
        ({"data": [0] * 5 + [[0]]}, "wanted data that fits UINT8"),
        ({"data": [0] * 5 + [256]}, "wanted data that fits UINT8"),
        ({"data": "AAAAAA"}, "data: wanted a list, got 'AAAAAA'"),
        ({"datatype": "BYTES"}, "wanted data that fits BYTES"),
        ({"datatype": "FP16"}, "FP64 or BYTES, got 'FP16'"),
        ({"datatype": None}, "datatype: wanted a text, got None"),
        ({"shape": [1, -2, -3]}, "shape: wanted a whole number from 0, got -2"),
        ({"shape": [1, 2, True]}, "wanted a whole number from 0, got True"),
        ({"shape": [1] * 9}, "wanted up to 8 dimensions, got 9"),
        ({"shape": None}, "wanted a list, got None"),
        ({"name": None}, "name of an input: wanted a text"),
        ({"data": None}, "exactly one of data and binary_data_size"),
        ({"parameters": {"binary_data_size": 6}}, "exactly one of"),
        ({"parameters": []}, "wanted an object, got"),
        ({"content": 1}, "wanted some of name, .* got 'content'"),
    ],
)
def test_an_input_that_is_not_understood_is_refused(changes: dict, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_json(inputs=[tensor(**changes)])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"inputs": None}, "inputs: wanted a list, got None"),
        ({"inputs": [1]}, "input: wanted an object, got 1"),
        ({"inputs": [tensor()] * 2}, "wanted each name once"),
        ({"outputs": [{"name": f"{i}"} for i in range(33)]}, "up to 32, got 33"),
        ({"outputs": [{"name": "a"}] * 100_000}, "JSON: wanted up to 1000 {"),
        ({"outputs": [{}]}, "name of an output: wanted a text"),
        ({"outputs": [{"name": "a", "parameters": {"binary_data": 1}}]}, "true or false, got 1"),
        ({"parameters": {"binary_data_output": "yes"}}, "data_output: wanted true or false"),
        ({"parameters": {"a": [1]}}, r"'a': wanted a text.* got \[1\]"),
        ({"parameters": {"a": None}}, "'a': wanted a text.* got None"),
        ({"parameters": [1]}, "parameters: wanted an object"),
        ({"id": 7}, "id: wanted a text, got 7"),
        ({"id": "x" * 10_000}, "id: wanted up to 256"),
        ({"model": "a"}, "request: wanted some of .* got 'model'"),
    ],
)
def test_a_request_that_is_not_understood_is_refused(members: dict, message: str) -> None:
    with pytest.raises(RequestError, match=message) as raised:
        parse_json(**({"inputs": [tensor()]} | members))
    assert len(str(raised.value)) < 200


NO_JSON = r"^JSON: .* at character \d+$"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "wanted a request in JSON, got 0 bytes", id="nothing"),
        pytest.param(b"\xff\xd8" + b"{" * 2000, "file alone goes to /v1/recognize", id="a picture"),
        pytest.param(b"[" * 100_000, NO_JSON, id="deep"),
        pytest.param(b'{"inputs": [NaN]}', NO_JSON, id="no number"),
        pytest.param(b'{"id": "\\ud800"}', NO_JSON, id="half a character"),
        pytest.param(b'{"inputs": []} {}', NO_JSON, id="two"),
        pytest.param(b"[]," * 3_000_001, "JSON: wanted up to", id="much memory for lists"),
        pytest.param(b'"",' * 5_001, "JSON: wanted up to", id="much memory for texts"),
    ],
)
def test_a_body_that_is_no_json_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(RequestError, match=message) as raised:
        parse(MODEL, "", body, None, {})
    assert len(str(raised.value)) < 120


def binary_body(size: object, tail: bytes) -> tuple[bytes, int]:
    binary_tensor = tensor(data=None, parameters={"binary_data_size": size})
    head = json.dumps({"inputs": [binary_tensor]}).encode()
    return head + tail, len(head)


@pytest.mark.parametrize(
    ("size", "tail", "message"),
    [
        (6, b"12345", "wanted 6 bytes behind the JSON, got 5"),
        (6, b"1234567", r"body: wanted \d+ bytes by binary_data_size"),
        (2**64 - 1, b"", "wanted 18446744073709551615 bytes"),
        (-1, b"", "wanted a whole number from 0, got -1"),
    ],
)
def test_the_bytes_behind_the_json_are_used_up(size: object, tail: bytes, message: str) -> None:
    body, json_size = binary_body(size, tail)
    with pytest.raises(RequestError, match=message):
        parse(MODEL, "", body, json_size, {})
    for outside in (-1, 10_000):
        with pytest.raises(RequestError, match=f"{JSON_SIZE}: wanted 0 to {len(body)}"):
            parse(MODEL, "", body, outside, {})


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(b"\xff\xd8\xff\xe0 a JPEG file", id="a file"),
        pytest.param(b"{" * 5000, id="many signs of JSON"),
        pytest.param(b"[[" * 2_000_000, id="pixels"),
        pytest.param(b"", id="none"),
    ],
)
def test_bytes_without_the_header_are_told_as_such(tail: bytes) -> None:
    body, _ = binary_body(max(6, len(tail)), tail)
    with pytest.raises(RequestError, match=JSON_SIZE):
        parse(MODEL, "", body, None, {})


TEXTS = Tensor("texts", "BYTES", (2, 1), encode([b"A001AA77", b""]))
BOXES = Tensor("coordinates", "FP32", (2, 4), np.arange(8, dtype="<f4").tobytes())
SCORES = Tensor("text_scores", "FP32", (2, 1), np.array([0.1, 1 / 3], "<f4").tobytes())
CORNERS = Tensor("corners", "FP32", (0, 4, 2), b"")
FORMATS = Tensor("formats", "BYTES", (0, 1), b"")
CALL = InferenceRequest(MODEL, ())


def render_response(request: HttpInferenceRequest, *outputs: Tensor, id="") -> tuple[bytes, dict]:
    return render(InferenceResponse(MODEL, "1", id, outputs), request)


def test_answers_and_errors_are_short_json() -> None:
    body, headers = render_response(HttpInferenceRequest(CALL))
    assert json.loads(body) == {"model_name": MODEL, "model_version": "1", "outputs": []}
    assert headers == {"Content-Type": "application/json"}
    assert b'"data":[0.1,0.33333334]' in render_response(HttpInferenceRequest(CALL), SCORES)[0]
    assert json.loads(error_body('no "such" model')) == {"error": 'no "such" model'}


@pytest.mark.parametrize(
    ("binary", "is_binary", "kind", "texts"),
    [
        ({}, True, "application/octet-stream", [b"A001AA77", b""]),
        ({}, False, "application/json", ["A001AA77", ""]),
        ({"texts": False}, True, "application/octet-stream", ["A001AA77", ""]),
    ],
    ids=["bytes", "JSON", "both"],
)
def test_tritonclient_reads_an_answer(
    binary: dict[str, bool], is_binary: bool, kind: str, texts: list
) -> None:
    request = HttpInferenceRequest(CALL, binary, is_binary)
    body, headers = render_response(request, BOXES, TEXTS, SCORES, CORNERS, FORMATS, id="9")
    result = InferResult.from_response_body(body, header_length=headers.get(JSON_SIZE))
    assert result.get_response()["id"] == "9"
    assert np.array_equal(result.as_numpy("coordinates"), np.arange(8).reshape(2, 4))
    assert result.as_numpy("text_scores").tobytes() == SCORES.data
    assert result.as_numpy("texts").ravel().tolist() == texts
    assert result.as_numpy("corners").shape == (0, 4, 2)
    assert result.as_numpy("formats").shape == (0, 1)
    assert headers["Content-Type"] == kind
    sizes = {"binary_data_size": 32} if is_binary else None
    assert result.get_output("coordinates").get("parameters") == sizes


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (Tensor("texts", "BYTES", (1,), encode([b"\xff"])), "in UTF-8"),
        (Tensor("texts", "BYTES", (1,), b"\xff"), "behind their"),
        (Tensor("a", "FP32", (2,), b"1234"), "got 4 bytes of FP32"),
        (Tensor("a", "FP32", (1,), b"123"), "got 3 bytes of FP32"),
        (Tensor("a", "BF16", (1,), b"12"), "got 2 bytes of BF16"),
    ],
)
def test_a_wrong_output_is_the_models_fault(output: Tensor, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        render_response(HttpInferenceRequest(CALL), output)
