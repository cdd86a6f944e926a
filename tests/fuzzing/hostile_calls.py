"""Hostile infer calls over HTTP: false JSON, shapes, types and sizes."""

from __future__ import annotations

import base64
import json
import struct

from tests.fuzzing.doors import RawRequest
from tests.fuzzing.file_parts import encode
from tests.fuzzing.hostile_bombs import bombs

Requests = dict[str, RawRequest]
"""By what is wrong with each."""

JPEG = encode("JPEG")
TEXT = base64.b64encode(JPEG)
MAX_INT64 = 2**63 - 1
PICTURE = {"name": "input__0", "datatype": "UINT8", "shape": [1, 2, 3], "data": [0] * 6}
DEEP = 30_000
"""Depth of nested JSON that is small enough to be parsed in this process."""
MAX_BOMB_BYTES = 7_000_000

JSON_BODIES = {
    "nothing": b"", "a space": b" ", "null": b"null", "a number": b"1", "a list": b"[]",
    "NaN": b'{"inputs": NaN}', "infinity": b'{"inputs": [{"shape": [Infinity]}]}',
    "not UTF-8": b'{"id": "\xff"}', "half a surrogate": b'{"id": "\\ud800"}',
    "a null character": b'{"id": "\\u0000"}', "a mark of order": b"\xef\xbb\xbf{}",
    "UTF-16": json.dumps({"inputs": []}).encode("utf-16"),
    "lists in lists": b'{"inputs": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "objects in objects": b'{"a": ' * DEEP + b"1" + b"}" * DEEP,
    "lists without end": b"[" * DEEP,
    "5000 digits": b'{"parameters": {"timeout": ' + b"9" * 5000 + b'}, "inputs": []}',
    "1e999": b'{"parameters": {"max_plates": 1e999}, "inputs": []}',
    "1e308": b'{"parameters": {"max_plates": 1e308}, "inputs": []}',
    "twice the same key": b'{"inputs": [], "inputs": null, "id": "a", "id": 1}',
    "20000 keys": b"{" + b",".join(b'"%d": 1' % key for key in range(20_000)) + b"}",
    "a key of 100 kB": b'{"' + b"k" * 100_000 + b'": 1}',
    "an id of 100 kB": b'{"inputs": [], "id": "' + b"i" * 100_000 + b'"}',
    "rubbish behind": b'{"inputs": []} {"inputs": []}',
    "a comment": b'{"inputs": [] /* none */}',
}  # fmt: skip
SHAPES: dict[str, object] = {
    "negative": [-1, 2, 3], "2^64": [2**64, 2, 3], "2^63": [MAX_INT64] * 3, "float": [1.0, 2, 3],
    "text": ["1", 2, 3], "true": [True, 2, 3], "empty": [], "null": None, "a number": 6,
    "zeros": [0, 0, 3], "no rows": [0, 2, 3], "a thousand": [1] * 1000, "in lists": [[1], 2, 3],
    "whose product is right": [2, 1, 3], "whose product overflows": [2**32, 2**32, 3],
}  # fmt: skip
DATA: dict[str, object] = {
    "none": [], "text": "0", "null": [None] * 6, "256": [256] * 6, "-1": [-1] * 6,
    "floats": [0.5] * 6, "true": [True] * 6, "texts": ["0"] * 6, "mixed": [0, [0], 0, 0, 0, 0],
    "uneven": [[0, 0], [0]], "objects": [{}] * 6, "deep": [[[[[[0] * 6]]]]], "large": [2**63] * 6,
    "one more": [0] * 7,
}  # fmt: skip
SIZES: dict[str, object] = {
    "0": 0, "-1": -1, "2^63": MAX_INT64, "2^64": 2**64, "one more": len(JPEG) + 5, "true": True,
    "text": "9", "float": 9.0, "null": None, "list": [9],
}  # fmt: skip
NAMES = (
    "max_plates", "roi", "timeout", "detection_threshold", "triton_enable_empty_final_response",
    "sequence_id", "shared_memory_region", "\x00", "", "n" * 300,
)  # fmt: skip
VALUES: dict[str, object] = {
    "null": None, "list": [1], "2^64": 2**64 - 1, "-2^63": -(2**63), "1e308": 1e308, "nan": "nan",
    "text": "a" * 2000, "inf": "inf", "digits": "9" * 1000, "roi": "0,0,inf,inf", "blank": " ",
    "unknown": "1,2,3,4,5", "underscores": "1_0", "another script's digits": "\u0663",
}  # fmt: skip
ELEMENTS = {
    "nothing": (b"", 0), "4 GiB": (JPEG, 2**32 - 1), "one more": (JPEG, len(JPEG) + 1),
    "one less": (JPEG, len(JPEG) - 1), "two": (JPEG + JPEG, len(JPEG)),
    "a million empty": (bytes(4_000_000), 0),
}  # fmt: skip
BASE64 = {
    "plain": TEXT, "a data URL": b"data:image/jpeg;base64," + TEXT, "cut": TEXT[:-3],
    "lines": b"\r\n".join([TEXT[:76], TEXT[76:]]), "no padding": TEXT.rstrip(b"="),
    "too much padding": TEXT + b"====", "padding within": TEXT[:8] + b"=" + TEXT[8:],
    "of the URL kind": base64.urlsafe_b64encode(JPEG), "twice": base64.b64encode(TEXT),
    "a blank": TEXT[:9] + b" " + TEXT[9:], "not ASCII": TEXT[:9] + b"\xff" + TEXT[9:],
    "its beginning": b"/9j/", "a URL of nothing": b"data:image/png;base64,", "Qk": b"Qk",
    "a URL without comma": b"data:image/" + b"a" * 100_000,
    "a URL of a text": b"data:text/html;base64," + TEXT,
}  # fmt: skip
JSON_SIZES = ("-1", "0", "1", "99999999999", "9" * 30, "0x10", "1e3", "\u00b2", " 5", "5,5")


def kserve(
    head: object, tail: bytes = b"", stated_size: str | None = None, door: str = "kserve"
) -> RawRequest:
    """Return an infer call: JSON, as an object or as bytes, and the binary data after it."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return RawRequest(door, str(len(text)) if stated_size is None else stated_size, text + tail)


def encoded_image(data: bytes, **parameters: object) -> RawRequest:
    """Return a call with one file after the JSON."""
    size = {"binary_data_size": len(data)} | parameters
    tensor = {"name": "encoded_image", "datatype": "BYTES", "shape": [1], "parameters": size}
    return kserve({"inputs": [tensor]}, data)


def pixels(**changes: object) -> RawRequest:
    """Return a call with a picture as JSON, with some fields changed."""
    tensor = {name: value for name, value in (PICTURE | changes).items() if value is not None}
    return kserve({"inputs": [tensor]})


def element(file: bytes, size: int | None = None) -> bytes:
    return struct.pack("<I", len(file) if size is None else size) + file


def wholes() -> Requests:
    crop = PICTURE | {"name": "crop"}
    nested = PICTURE | {"data": [[[0] * 3] * 2]}
    texts = {"name": "texts", "parameters": {"binary_data": True}}
    everything = {
        "id": "a", "inputs": [nested], "outputs": [texts, {"name": "corners"}],
        "parameters": {"timeout": 9, "max_plates": 3, "roi": "0,0,1,1", "binary_data_output": True},
    }  # fmt: skip
    return {
        "a file": encoded_image(element(JPEG)),
        "a text": pixels(name="encoded_image", datatype="BYTES", shape=[1], data=[TEXT.decode()]),
        "pixels": pixels(),
        "everything": kserve(everything),
        "a crop": kserve({"inputs": [crop]}, door="kserve-reader"),
    }


def tensors() -> Requests:
    whole = wholes()["a file"].body
    cases = {f"JSON: {name}": kserve(body) for name, body in JSON_BODIES.items()}
    cases |= {f"shape: {name}": pixels(shape=shape) for name, shape in SHAPES.items()}
    cases |= {f"data: {name}": pixels(data=data) for name, data in DATA.items()}
    cases |= {f"JSON's size: {size[:12]}": RawRequest("kserve", size, whole) for size in JSON_SIZES}
    for name, size in SIZES.items():
        cases[f"binary size: {name}"] = encoded_image(element(JPEG), binary_data_size=size)
    for name, value in VALUES.items():
        for parameter_name in NAMES:
            call = {"parameters": {parameter_name: value}, "inputs": [PICTURE]}
            cases[f"parameter {parameter_name[:20]!r}: {name}"] = kserve(call)
    return cases


def files() -> Requests:
    cases = {
        f"elements: {name}": encoded_image(element(*element_and_size))
        for name, element_and_size in ELEMENTS.items()
    }
    cases |= {f"base64: {name}": encoded_image(element(text)) for name, text in BASE64.items()}
    small = {name: file for name, file in bombs().items() if len(file) < MAX_BOMB_BYTES}
    cases |= {f"a bomb: {name}": encoded_image(element(file)) for name, file in small.items()}
    return cases | {"part of a length": encoded_image(b"\x01\0")}


def others() -> Requests:
    both = [PICTURE, PICTURE | {"name": "encoded_image"}]
    return {
        "datatype of 100 kB": pixels(datatype="U" * 100_000),
        "FP32": pixels(datatype="FP32"),
        "both pictures": kserve({"inputs": both}),
        "the same twice": kserve({"inputs": [PICTURE, PICTURE]}),
        "150 inputs": kserve({"inputs": [PICTURE] * 150}),
        "no inputs": kserve({}),
        "inputs that are none": kserve({"inputs": [None, 1, "a", []]}),
        "outputs that are none": kserve({"inputs": [PICTURE], "outputs": [None]}),
        "900 outputs": kserve({"inputs": [PICTURE], "outputs": [{"name": "texts"}] * 900}),
        "shared memory": encoded_image(b"", shared_memory_region="a"),
    }


def calls() -> Requests:
    """Return all of them by their names."""
    return wholes() | tensors() | files() | others()
