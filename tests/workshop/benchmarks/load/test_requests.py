"""The bytes of requests, read back with the libraries of the protocols."""

import json
import struct

import numpy as np
from tritonclient.grpc import service_pb2

from workshop.benchmarks.load.requests import (
    BOUNDARY,
    HEADER,
    GrpcRequest,
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
    assert [(one["name"], one["datatype"], one["shape"]) for one in head["inputs"]] == [
        ("input__0", "UINT8", [2, 4, 3]),
        ("encoded_image", "BYTES", [1]),
    ]
    assert head["parameters"] == {"binary_data_output": True, "max_plates": 3}
    assert [one["name"] for one in head["outputs"]] == ["texts"]
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


def test_an_input_in_shared_memory_is_only_named() -> None:
    request = parse(kserve_grpc([pixels(PIXELS, region="ours")]))
    parameters = request.inputs[0].parameters
    assert parameters["shared_memory_region"].string_param == "ours"
    assert parameters["shared_memory_byte_size"].int64_param == PIXELS.nbytes
    assert list(request.raw_input_contents) == []


def test_a_header_of_a_rest_request_has_dashes() -> None:
    assert rest(b"x", Content_Type="image/png").headers == {"Content-Type": "image/png"}


def test_a_form_has_a_part_for_each_picture() -> None:
    form = rest_form(b"one", b"two")
    assert form.headers == {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    parts = form.body.split(f"--{BOUNDARY}".encode())
    assert [part.rpartition(b"\r\n\r\n")[2] for part in parts[1:3]] == [b"one\r\n", b"two\r\n"]
    assert parts[3] == b"--\r\n"
