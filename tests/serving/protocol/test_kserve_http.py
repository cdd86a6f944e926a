"""Infer calls over HTTP, as tritonclient sends them and as others may."""

import json
import pickle

import numpy as np
import pytest
from tritonclient.http import (
    InferInput,
    InferRequestedOutput,
)

from orchestrator.errors import RequestError
from orchestrator.serving.protocol.bytes_tensors import encode
from orchestrator.serving.protocol.inference import InferenceRequest, Tensor
from orchestrator.serving.protocol.kserve_http import JSON_SIZE, parse
from tests.serving.gateway.kserve_calls import (
    FILE,
    MODEL,
    PICTURE,
    TEXT,
    parsed,
    sent,
    tensor,
    understood,
)


class TestWhatTritonclientSends:
    @pytest.mark.parametrize("binary", [True, False])
    def test_a_picture(self, binary: bool) -> None:
        call = understood(sent(PICTURE, "input__0", binary)).call
        assert call == InferenceRequest(
            MODEL, (Tensor("input__0", "UINT8", (2, 3, 3), bytes(range(18))),)
        )

    def test_a_file(self) -> None:
        (given,) = understood(sent(FILE, "encoded_image")).call.inputs
        assert given == Tensor("encoded_image", "BYTES", (1,), encode([b"\xff\xd8 a file"]))

    def test_a_text(self) -> None:
        (given,) = understood(sent(TEXT, "encoded_image", binary=False)).call.inputs
        assert given == Tensor("encoded_image", "BYTES", (1,), encode([b"/9j/text"]))

    def test_bytes_follow_in_the_order_of_the_inputs(self) -> None:
        inputs = understood(
            sent(PICTURE, "a"), sent(PICTURE, "b", binary=False), sent(FILE, "c")
        ).call.inputs
        assert [one.data for one in inputs] == [
            bytes(range(18)),
            bytes(range(18)),
            encode([b"\xff\xd8 a file"]),
        ]

    def test_an_input_without_bytes(self) -> None:
        empty = sent(np.empty((0, 3, 3), np.uint8), "input__0")
        assert understood(empty).call.inputs == (Tensor("input__0", "UINT8", (0, 3, 3), b""),)

    def test_without_outputs_all_are_wanted_as_bytes(self) -> None:
        request = understood(sent(PICTURE, "input__0"))
        assert request.call.outputs == ()
        assert request.call.parameters == {}
        assert request.is_binary

    def test_each_output_says_its_form(self) -> None:
        outputs = [InferRequestedOutput("texts"), InferRequestedOutput("corners", False)]
        request = understood(sent(PICTURE, "input__0"), outputs=outputs)
        assert request.call.outputs == ("texts", "corners")
        assert request.binary == {"texts": True, "corners": False}
        assert not request.is_binary

    def test_id_and_parameters(self) -> None:
        parameters = {"roi": "0,0,1,1", "max_plates": 3, "text_threshold": 0.5, "flag": True}
        call = understood(
            sent(PICTURE, "input__0"), request_id="7", parameters=parameters, timeout=1000
        ).call
        assert call.id == "7"
        assert call.parameters == parameters | {"timeout": 1000}
        assert call.parameters["flag"] is True

    def test_classes_are_refused(self) -> None:
        output = InferRequestedOutput("texts", class_count=3)
        with pytest.raises(RequestError, match="of binary_data, got 'classification'"):
            understood(sent(PICTURE, "input__0"), outputs=[output])

    def test_an_output_into_nobodys_memory_is_refused(self) -> None:
        output = InferRequestedOutput("texts")
        output.set_shared_memory("region", 9)
        with pytest.raises(RequestError, match="of binary_data, got 'shared_memory_byte_size'"):
            understood(sent(PICTURE, "input__0"), outputs=[output])

    def test_an_input_in_nobodys_memory_is_refused(self) -> None:
        given = InferInput("input__0", [2, 3, 3], "UINT8").set_shared_memory("region", 18)
        with pytest.raises(RequestError, match="of binary_data_size, got 'shared_memory_byte_"):
            understood(given)


class TestJson:
    def test_a_request_goes_to_another_process_and_back(self) -> None:
        request = parsed(inputs=[tensor()], outputs=[{"name": "texts"}], id="1")
        assert pickle.loads(pickle.dumps(request)) == request

    def test_version_and_trace_come_from_elsewhere(self) -> None:
        body = json.dumps({"inputs": [tensor()]}).encode()
        call = parse(MODEL, "1", body, len(body), {"traceparent": "00-1"}).call
        assert (call.version, call.trace) == ("1", {"traceparent": "00-1"})

    def test_kserve_answers_json_unless_told_otherwise(self) -> None:
        request = parsed(inputs=[tensor()], outputs=[{"name": "texts"}])
        assert (dict(request.binary), request.is_binary) == ({}, False)

    def test_bytes_may_be_the_form_of_all_outputs(self) -> None:
        output = {"name": "texts", "parameters": {"binary_data": False}}
        request = parsed(
            inputs=[tensor()], outputs=[output], parameters={"binary_data_output": True}
        )
        assert (request.binary, request.is_binary) == ({"texts": False}, True)

    @pytest.mark.parametrize(
        ("shape", "data", "content"),
        [
            pytest.param([0, 1, 3], [], b"", id="empty"),
            pytest.param([1, 2, 3], [1, 2, 3, 4, 5, 255], b"\1\2\3\4\5\xff", id="flat"),
            pytest.param([1, 2, 3], [[[1, 2, 3], [4, 5, 6]]], b"\1\2\3\4\5\6", id="nested"),
            pytest.param([2, 0, 3], [[], []], b"", id="nested and empty"),
        ],
    )
    def test_data_is_flat_or_nested(self, shape, data, content: bytes) -> None:
        (given,) = parsed(inputs=[tensor(shape=shape, data=data)]).call.inputs
        assert given.data == content

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            pytest.param({"data": [0] * 5}, "wanted 6 elements by its shape, got 5", id="fewer"),
            pytest.param({"data": [[[0] * 3], [[0] * 3]]}, "or nested as its shape", id="turned"),
            pytest.param({"data": [[[0] * 2, [0] * 4]]}, "or nested as its shape", id="ragged"),
            pytest.param({"data": [[0, [0] * 5]]}, "or nested as its shape", id="half nested"),
            pytest.param({"data": [[[[0] * 3, [0] * 3]]]}, "or nested as its sh", id="too deep"),
            pytest.param({"data": [0, [0] * 5]}, "wanted 6 elements", id="a list among numbers"),
            pytest.param({"data": [0] * 5 + [[0]]}, "that fits UINT8", id="a list at the end"),
            pytest.param({"data": [0] * 5 + [256]}, "wanted data that fits UINT8", id="too large"),
            pytest.param({"data": [0] * 5 + [-1]}, "wanted data that fits UINT8", id="negative"),
            pytest.param({"data": [0] * 5 + [2**70]}, "wanted data that fits UINT8", id="huge"),
            pytest.param({"data": [0] * 5 + [1.0]}, "wanted data that fits UINT8", id="fraction"),
            pytest.param({"data": [0] * 5 + [True]}, "wanted data that fits UINT8", id="boolean"),
            pytest.param({"data": [0] * 5 + [None]}, "wanted data that fits UINT8", id="null"),
            pytest.param({"data": "AAAAAA"}, "data: wanted a list, got 'AAAAAA'", id="text"),
            pytest.param({"datatype": "BYTES"}, "wanted data that fits BYTES", id="no texts"),
            pytest.param({"datatype": "FP16"}, "FP64 or BYTES, got 'FP16'", id="type"),
            pytest.param({"datatype": None}, "datatype: wanted a text, got None", id="no type"),
            pytest.param({"shape": [1, -2, -3]}, "shape: wanted a whole number from 0, got -2",
                         id="negative size"),
            pytest.param({"shape": [1, 2, True]}, "wanted a whole number from 0, got True",
                         id="boolean size"),
            pytest.param({"shape": [1] * 9}, "wanted up to 8 dimensions, got 9", id="dimensions"),
            pytest.param({"shape": None}, "wanted a list, got None", id="no shape"),
            pytest.param({"name": None}, "name of an input: wanted a text", id="no name"),
            pytest.param({"name": 7}, "name of an input: wanted a text, got 7", id="number"),
            pytest.param({"data": None}, "exactly one of data and binary_data_size", id="no data"),
            pytest.param({"parameters": {"binary_data_size": 6}}, "exactly one of", id="both"),
            pytest.param({"parameters": []}, "wanted an object, got", id="parameters"),
            pytest.param({"content": 1}, "wanted some of name, .* got 'content'", id="unknown"),
        ],
    )  # fmt: skip
    def test_an_input_that_is_not_understood_is_refused(self, changes, message: str) -> None:
        with pytest.raises(RequestError, match=message):
            parsed(inputs=[tensor(**changes)])

    @pytest.mark.parametrize(
        ("members", "message"),
        [
            pytest.param({"inputs": None}, "inputs: wanted a list, got None", id="no inputs"),
            pytest.param({"inputs": [1]}, "input: wanted an object, got 1", id="no object"),
            pytest.param({"inputs": [tensor()] * 2}, "wanted each name once", id="twice"),
            pytest.param({"outputs": [{"name": "a"}] * 2}, "wanted each name once", id="output"),
            pytest.param({"outputs": [{"name": f"{i}"} for i in range(33)]}, "up to 32, got 33",
                         id="33 outputs"),
            pytest.param({"outputs": [{"name": "a"}] * 100_000}, "JSON: wanted up to 1000 {",
                         id="100000 outputs"),
            pytest.param({"outputs": [{}]}, "name of an output: wanted a text", id="no name"),
            pytest.param({"outputs": [{"name": "a", "parameters": {"binary_data": 1}}]},
                         "wanted true or false, got 1", id="form"),
            pytest.param({"parameters": {"binary_data_output": "yes"}},
                         "binary_data_output: wanted true or false", id="form of all"),
            pytest.param({"parameters": {"a": [1]}}, r"'a': wanted a text.* got \[1\]", id="list"),
            pytest.param({"parameters": {"a": None}}, "'a': wanted a text.* got None", id="null"),
            pytest.param({"parameters": [1]}, "parameters: wanted an object", id="parameters"),
            pytest.param({"id": 7}, "id: wanted a text, got 7", id="id"),
            pytest.param({"id": "x" * 10_000}, "id: wanted up to 256", id="long id"),
            pytest.param({"model": "a"}, "request: wanted some of .* got 'model'", id="unknown"),
        ],
    )  # fmt: skip
    def test_a_request_that_is_not_understood_is_refused(self, members, message: str) -> None:
        with pytest.raises(RequestError, match=message) as raised:
            parsed(**({"inputs": [tensor()]} | members))
        assert len(str(raised.value)) < 200

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(b"\xff" * 1000, id="junk"),
            pytest.param(b"[" * 100_000, id="deep"),
            pytest.param(b'{"inputs": [NaN]}', id="no number"),
            pytest.param(b'{"id": "\\ud800"}', id="half a character"),
            pytest.param(b'{"inputs": []} {}', id="two"),
        ],
    )
    def test_a_body_that_is_no_json_is_refused(self, body: bytes) -> None:
        with pytest.raises(RequestError, match=r"^JSON: .* at character \d+$") as raised:
            parse(MODEL, "", body, None, {})
        assert len(str(raised.value)) < 120

    @pytest.mark.parametrize(
        "body", [pytest.param(b"[],", id="lists"), pytest.param(b'"",', id="texts")]
    )
    def test_json_that_becomes_much_memory_is_refused(self, body: bytes) -> None:
        with pytest.raises(RequestError, match="JSON: wanted up to"):
            parse(MODEL, "", body * 3_000_001, None, {})


class TestBinary:
    def body(self, size: object, tail: bytes) -> tuple[bytes, int]:
        given = tensor(data=None, parameters={"binary_data_size": size})
        head = json.dumps({"inputs": [given]}).encode()
        return head + tail, len(head)

    @pytest.mark.parametrize(
        ("size", "tail", "message"),
        [
            pytest.param(6, b"12345", "wanted 6 bytes behind the JSON, got 5", id="too few"),
            pytest.param(6, b"1234567", r"body: wanted \d+ bytes by binary_data_size", id="more"),
            pytest.param(2**64 - 1, b"", "wanted 18446744073709551615 bytes", id="far more"),
            pytest.param(-1, b"", "wanted a whole number from 0, got -1", id="negative"),
            pytest.param(True, b"1", "wanted a whole number from 0, got True", id="boolean"),
            pytest.param("6", b"123456", "wanted a whole number from 0, got '6'", id="text"),
        ],
    )
    def test_the_tail_is_used_up(self, size: object, tail: bytes, message: str) -> None:
        body, json_size = self.body(size, tail)
        with pytest.raises(RequestError, match=message):
            parse(MODEL, "", body, json_size, {})

    @pytest.mark.parametrize(
        "tail",
        [
            pytest.param(b"\xff\xd8\xff\xe0 a JPEG file", id="a file"),
            pytest.param(b"{" * 5000, id="many signs of JSON"),
            pytest.param(b"[[" * 2_000_000, id="pixels"),
            pytest.param(b"", id="none"),
        ],
    )
    def test_bytes_without_the_header_are_told_as_such(self, tail: bytes) -> None:
        body, _ = self.body(max(6, len(tail)), tail)
        with pytest.raises(RequestError, match=JSON_SIZE):
            parse(MODEL, "", body, None, {})

    @pytest.mark.parametrize("json_size", [-1, 10_000])
    def test_the_json_ends_in_the_body(self, json_size: int) -> None:
        body, _ = self.body(1, b"1")
        with pytest.raises(RequestError, match=f"{JSON_SIZE}: wanted 0 to {len(body)}"):
            parse(MODEL, "", body, json_size, {})
