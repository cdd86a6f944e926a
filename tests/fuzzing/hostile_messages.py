"""Hostile infer calls over gRPC: invalid messages, and valid ones with false content."""

from __future__ import annotations

from collections.abc import Iterable

from tritonclient.grpc import service_pb2 as pb

from tests.fuzzing.doors import RawRequest
from tests.fuzzing.hostile_calls import JPEG, MAX_INT64, Requests, element

Input, Contents = pb.ModelInferRequest.InferInputTensor, pb.InferTensorContents
Parameter = pb.InferParameter

BYTES = {
    "nothing": b"", "one byte": b"\0", "JSON": b'{"inputs": []}', "groups": b"\x0b" * 9999,
    "a number without end": b"\xff" * 99, "a field without end": b"\x0a\xff\xff\xff\xff\x0f",
    "a field of 2^64": b"\x0a" + b"\xff" * 9 + b"\x01", "field 0": b"\0\0",
    "half a million empty inputs": b"\x2a\0" * 500_000,
    "half a million unknown fields": b"\x7a\0" * 500_000, "not UTF-8": b"\x0a\x01\xff",
    "inputs in inputs": b"\x2a\x02" * 999 + b"\x2a\0",
}  # fmt: skip
SHAPES = {
    "negative": [-1, 2, 3], "2^63": [MAX_INT64] * 3, "empty": [], "of 300 sizes": [MAX_INT64] * 300,
    "of 20000 sizes": [MAX_INT64] * 20_000, "of 100000 ones": [1] * 100_000,
}  # fmt: skip
PARAMETERS = {
    "none": Parameter(), "NaN": Parameter(double_param=float("nan")),
    "infinity": Parameter(double_param=float("inf")), "-2^63": Parameter(int64_param=-(2**63)),
    "a text of 100 kB": Parameter(string_param="9" * 100_000),
}  # fmt: skip


def message(*inputs: Input, raw: Iterable[bytes] = (), **rest: object) -> RawRequest:
    """Return an infer call."""
    fields = {"model_name": "plate_recognition"} | rest
    request = pb.ModelInferRequest(inputs=inputs, raw_input_contents=raw, **fields)
    return RawRequest("grpc", "", request.SerializeToString())


def tensor(**changes: object) -> Input:
    return Input(**{"name": "input__0", "datatype": "UINT8", "shape": [1, 2, 3]} | changes)


def file(**changes: object) -> Input:
    return Input(name="encoded_image", datatype="BYTES", shape=[1], **changes)


def typed(**contents: object) -> RawRequest:
    """Return a call with a picture in typed contents, not in raw bytes."""
    return message(tensor(contents=Contents(**contents)))


def messages() -> Requests:
    """Return them by their names."""
    numbers = Contents(uint_contents=[0] * 6)
    whole = message(file(), raw=[element(JPEG)]).body
    cases = {name: RawRequest("grpc", "", body) for name, body in BYTES.items()}
    for name, shape in SHAPES.items():
        cases[f"shape {name}, typed"] = message(tensor(shape=shape, contents=numbers))
        cases[f"shape {name}, raw"] = message(tensor(shape=shape), raw=[bytes(6)])
    for name, value in PARAMETERS.items():
        for parameter_name in ("max_plates", "roi", "timeout"):
            parameters = {parameter_name: value}
            request = message(tensor(contents=numbers), parameters=parameters)
            cases[f"parameter {parameter_name}: {name}"] = request
    cases |= {
        "a file": RawRequest("grpc", "", whole), "cut": RawRequest("grpc", "", whole[:-9]),
        "twice": RawRequest("grpc", "", whole * 2),
        "pixels": typed(uint_contents=[0] * 6),
        "a file by type": message(file(contents=Contents(bytes_contents=[JPEG]))),
        "numbers above 255": typed(uint_contents=[2**32 - 1] * 6),
        "other numbers": typed(fp32_contents=[float("nan")] * 6),
        "typed and raw": message(tensor(contents=numbers), raw=[bytes(6)]),
        "fewer raw": message(tensor(), tensor(name="b"), raw=[bytes(6)]),
        "an unknown model": message(model_name="m" * 9999),
    }  # fmt: skip
    return {f"message: {name}": request for name, request in cases.items()}
