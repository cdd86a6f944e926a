"""Parsing of any bytes, and round trips: values that are written are read back."""

import base64
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2 as pb

from orchestrator.errors import RequestError
from orchestrator.imaging.files import from_base64
from orchestrator.serving.gateway.errors import GatewayError
from orchestrator.serving.gateway.http import multipart
from orchestrator.serving.gateway.http.endpoint import announced_size
from orchestrator.serving.protocol import bytes_tensors
from orchestrator.serving.protocol.bounds import check_bounds
from orchestrator.serving.protocol.inference import Tensor
from orchestrator.serving.protocol.kserve_grpc import parse_request, to_call
from orchestrator.serving.protocol.kserve_http import parse
from tests.fuzzing.doors import DOORS, RawRequest, ask, open_picture
from tests.fuzzing.profiles import quick
from tests.serving.gateway.http.forms import CONTENT_TYPE, form, part

OUTCOMES = ("answered", "refused")
WORDS = st.sampled_from(
    ["inputs", "outputs", "parameters", "name", "shape", "datatype", "data", "id", "crop", "texts",
     "binary_data_size", "binary_data", "binary_data_output", "input__0", "encoded_image", "UINT8",
     "BYTES"]
)  # fmt: skip
PLAIN = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | WORDS | st.text()
)
JSON = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=6)
                    | st.dictionaries(WORDS | st.text(), inner, max_size=6))  # fmt: skip
INPUT = st.fixed_dictionaries(
    {"name": WORDS, "shape": JSON, "datatype": WORDS},
    optional={"data": JSON, "parameters": st.dictionaries(WORDS, PLAIN, max_size=2)},
)
NAMES = st.text("abc_019", min_size=1, max_size=64)
SHAPES = st.lists(st.integers(0, 2**63 - 1), max_size=8).map(tuple)
TENSORS = st.lists(st.tuples(NAMES, st.text("UINT8", max_size=9), SHAPES, st.binary()), max_size=8,
                   unique_by=lambda entry: entry[0])  # fmt: skip


class TestDoors:
    @quick
    @given(st.sampled_from([*DOORS]), st.text(), st.binary())
    def test_anything_is_answered_or_refused(self, door: str, metadata: str, body: bytes) -> None:
        assert ask(RawRequest(door, metadata, body)) in OUTCOMES

    @quick
    @given(
        JSON | st.dictionaries(WORDS, st.lists(INPUT, max_size=3) | JSON, max_size=4), st.binary()
    )
    def test_any_json_is_answered_or_refused(self, value: object, tail: bytes) -> None:
        head = json.dumps(value).encode(errors="replace")
        assert ask(RawRequest("kserve", str(len(head)), head + tail)) in OUTCOMES

    @quick
    @given(st.sampled_from([b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF....WEBP", b"BM"]),
           st.binary())  # fmt: skip
    def test_any_bytes_are_a_picture_or_refused(self, magic: bytes, rest: bytes) -> None:
        assert open_picture(magic + rest) in OUTCOMES


class TestRoundTrips:
    @quick
    @given(st.lists(st.binary()))
    def test_elements_come_back(self, texts: list[bytes]) -> None:
        tensor = Tensor("a", "BYTES", (len(texts),), bytes_tensors.encode(texts))
        assert bytes_tensors.decode(tensor) == texts

    @quick
    @given(st.lists(st.binary().filter(lambda entry: b"--the-boundary" not in entry), min_size=1,
                    max_size=4))  # fmt: skip
    def test_the_pictures_of_a_form_come_back(self, contents: list[bytes]) -> None:
        body = form(*[part(content) for content in contents])
        pictures = multipart.parse(body, CONTENT_TYPE, 4).pictures
        assert [picture.content for picture in pictures] == contents

    @quick
    @given(st.sampled_from([b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF", b"BM"]), st.binary(),
           st.sampled_from([b"", b"data:image/png;base64,"]))  # fmt: skip
    def test_a_file_comes_back_from_its_text(self, magic: bytes, rest: bytes, url: bytes) -> None:
        file = magic + rest
        assert from_base64(url + base64.encodebytes(file)) == file
        assert from_base64(file) == file

    @quick
    @given(
        TENSORS, st.dictionaries(NAMES, st.booleans() | st.floats(-1e9, 1e9) | NAMES, max_size=8)
    )
    def test_a_call_over_http_comes_back(self, tensors, parameters) -> None:
        inputs = [{"name": name, "datatype": kind, "shape": shape,
                   "parameters": {"binary_data_size": len(data)}}
                  for name, kind, shape, data in tensors]  # fmt: skip
        head = json.dumps({"inputs": inputs, "parameters": parameters}).encode()
        body = head + b"".join(data for *_, data in tensors)
        call = parse("a", "", body, len(head), {}).call
        assert call.inputs == tuple(Tensor(*tensor) for tensor in tensors)
        assert call.parameters == parameters

    @quick
    @given(TENSORS, st.lists(NAMES, unique=True, max_size=8), NAMES)
    def test_a_call_over_grpc_comes_back(self, tensors, outputs: list[str], id: str) -> None:
        kinds = pb.ModelInferRequest
        request = kinds(
            inputs=[
                kinds.InferInputTensor(name=name, datatype=kind, shape=shape)
                for name, kind, shape, _ in tensors
            ],
            outputs=[kinds.InferRequestedOutputTensor(name=name) for name in outputs],
            raw_input_contents=[data for *_, data in tensors],
            id=id,
        )
        call = to_call(parse_request(request.SerializeToString()), {})
        assert call.inputs == tuple(Tensor(*tensor) for tensor in tensors)
        assert (call.outputs, call.id) == (tuple(outputs), id)
        assert check_bounds(call) is call


class TestSizes:
    @quick
    @given(st.dictionaries(st.sampled_from(["content-length", "content-encoding",
                                            "transfer-encoding"]),
                           st.text() | st.integers().map(str)))  # fmt: skip
    def test_a_body_is_announced_or_refused(self, headers: dict[str, str]) -> None:
        with suppress(GatewayError):
            assert 0 <= announced_size(headers, 1000) <= 1000

    @quick
    @given(st.binary(), st.lists(st.integers(0, 9), max_size=3).map(tuple))
    def test_any_elements_are_as_many_as_the_shape_says_or_refused(self, data, shape) -> None:
        with suppress(RequestError):
            assert (
                bytes_tensors.encode(bytes_tensors.decode(Tensor("a", "BYTES", shape, data)))
                == data
            )

    @pytest.mark.parametrize("count", [1, 4, 5])
    @pytest.mark.parametrize("boundary", ["", "a", "b" * 70, "b" * 71])
    def test_a_boundary_of_any_length(self, boundary: str, count: int) -> None:
        body = f"--{boundary}\r\n".encode() * count
        with pytest.raises(multipart.FormError):
            multipart.parse(body, f"multipart/form-data; boundary={boundary}", 4)
