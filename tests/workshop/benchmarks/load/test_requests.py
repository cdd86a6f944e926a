"""Requests, read back with the protocols' libraries, and responses, reduced to texts or a hash."""

import json
import struct

import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from workshop.benchmarks.load.connections import (
    ANSWERED,
    UNREADABLE,
    Reply,
    count_rows,
    digest,
    read_texts,
)
from workshop.benchmarks.load.requests import (
    BOUNDARY,
    HEADER,
    GrpcRequest,
    HttpRequest,
    file,
    kserve_grpc,
    kserve_http,
    kserve_json,
    pixels,
    rest,
    rest_form,
)

PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


def test_kserve_over_http_is_json_and_then_bytes() -> None:
    request = kserve_http([pixels(PIXELS), file(b"jpeg")], {"max_plates": 3}, "m", ("texts",))
    size = int(request.headers[HEADER])
    head = json.loads(request.body[:size])
    assert request.path == "/v2/models/m/infer"
    assert [(tensor["name"], tensor["datatype"], tensor["shape"]) for tensor in head["inputs"]] == [
        ("input__0", "UINT8", [2, 4, 3]),
        ("encoded_image", "BYTES", [1]),
    ]
    assert head["parameters"] == {"binary_data_output": True, "max_plates": 3}
    assert [tensor["name"] for tensor in head["outputs"]] == ["texts"]
    assert request.body[size:] == PIXELS.tobytes() + struct.pack("<I", 4) + b"jpeg"


def test_json_alone_has_every_pixel() -> None:
    (tensor,) = json.loads(kserve_json(PIXELS).body)["inputs"]
    np.testing.assert_array_equal(tensor["data"], PIXELS)


def parse(request: GrpcRequest) -> service_pb2.ModelInferRequest:
    return service_pb2.ModelInferRequest.FromString(request.body)


def test_kserve_over_grpc_has_the_same_parts() -> None:
    request = parse(kserve_grpc([pixels(PIXELS)], {"max_plates": 3}, "m", ("texts",)))
    assert (request.model_name, list(request.inputs[0].shape)) == ("m", [2, 4, 3])
    assert list(request.raw_input_contents) == [PIXELS.tobytes()]
    assert request.parameters["max_plates"].int64_param == 3
    assert [output.name for output in request.outputs] == ["texts"]


def test_a_header_of_a_rest_request_has_dashes() -> None:
    assert rest(b"x", Content_Type="image/png").headers == {"Content-Type": "image/png"}


def test_a_form_has_a_part_for_each_picture() -> None:
    form = rest_form(b"one", b"two")
    assert form.headers == {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    parts = form.body.split(f"--{BOUNDARY}".encode())
    assert [part.rpartition(b"\r\n\r\n")[2] for part in parts[1:3]] == [b"one\r\n", b"two\r\n"]
    assert parts[3] == b"--\r\n"


KSERVE, GRPC, REST = HttpRequest("/v2/models/m/infer", b""), GrpcRequest(b""), HttpRequest("/", b"")
TEXTS = ("texts", "BYTES", [1, 1], struct.pack("<I", 8) + b"A123BC77")
SCORES = ("text_scores", "FP32", [1, 1], b"\0\0\x80?")
Tensor = tuple[str, str, list[int], bytes]


def over_http(*tensors: Tensor) -> Reply:
    outputs = [
        {
            "name": name,
            "datatype": datatype,
            "shape": shape,
            "parameters": {"binary_data_size": len(content)},
        }
        for name, datatype, shape, content in tensors
    ]
    head = json.dumps({"outputs": outputs}).encode()
    return Reply(ANSWERED, head + b"".join(content for *_, content in tensors), len(head))


def over_grpc(*tensors: Tensor) -> Reply:
    response = service_pb2.ModelInferResponse()
    for name, kind, shape, content in tensors:
        response.outputs.add(name=name, datatype=kind, shape=shape)
        response.raw_output_contents.append(content)
    return Reply(ANSWERED, response.SerializeToString())


def over_rest(answer: object) -> Reply:
    return Reply(ANSWERED, json.dumps(answer).encode())


def test_rows_of_the_first_output_are_counted() -> None:
    several = ("coordinates", "FP32", [3, 4], bytes(48))
    assert count_rows(KSERVE, over_http(several, SCORES)) == 3
    assert count_rows(GRPC, over_grpc(several, SCORES)) == 3


def test_texts_are_read_over_every_protocol() -> None:
    plain = {"name": "texts", "datatype": "BYTES", "shape": [1, 1], "data": ["A123BC77"]}
    texts = [
        read_texts(KSERVE, over_rest({"outputs": [plain]})),
        read_texts(KSERVE, over_http(TEXTS)),
        read_texts(GRPC, over_grpc(TEXTS)),
        read_texts(REST, over_rest({"pictures": [{"plate": {"text": "A123BC77"}}]})),
    ]
    assert texts == [("A123BC77",)] * 4


def test_texts_of_several_pictures_are_in_order() -> None:
    pictures = [
        {"plates": [{"text": "A123BC77"}, {"text": ""}]},
        {"problem": {"status": 400}},
        {"plates": []},
    ]
    assert read_texts(REST, over_rest({"pictures": pictures})) == ("A123BC77", "", "problem 400")


def test_an_answer_has_the_same_digest_over_http_and_grpc() -> None:
    assert digest(KSERVE, over_http(SCORES, TEXTS)) == digest(GRPC, over_grpc(TEXTS, SCORES))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param([TEXTS], id="fewer"),
        pytest.param([TEXTS, (*SCORES[:3], b"\1\0\x80?")], id="one-bit"),
        pytest.param([TEXTS, (*SCORES[:2], [1], SCORES[3])], id="shape"),
        pytest.param([TEXTS, ("scores", *SCORES[1:])], id="name"),
    ],
)
def test_another_answer_has_another_digest(other: list[Tensor]) -> None:
    assert digest(GRPC, over_grpc(*other)) != digest(GRPC, over_grpc(TEXTS, SCORES))


def test_times_and_the_order_of_members_do_not_matter_in_json() -> None:
    answer_digest = digest(REST, over_rest({"a": 1, "b": 2}))
    assert answer_digest == digest(
        REST, over_rest({"b": 2, "a": 1, "seconds": {"yolo": 1}, "time": "now", "request_id": "7"})
    )
    assert answer_digest != digest(REST, over_rest({"a": 1, "b": 3}))


@pytest.mark.parametrize("request_", [KSERVE, REST, GRPC])
@pytest.mark.parametrize("read_answer", [read_texts, digest])
def test_another_content_cannot_be_read(request_, read_answer) -> None:
    with pytest.raises(UNREADABLE):
        read_answer(request_, Reply(ANSWERED, b"<html>"))
