"""Coverage-guided fuzzing of the gateway's parser: any request is answered or rejected."""

import atheris

with atheris.instrument_imports(include=["orchestrator", "python_multipart"]):
    from tests.fuzzing.doors import ask, pack, unpack

from dataclasses import replace

from tests.fuzzing.hostile import requests
from tests.fuzzing.session import MAX_BYTES, run

WORDS = (
    "inputs", "outputs", "parameters", "shape", "datatype", "data", "name", "binary_data_size",
    "binary_data", "binary_data_output", "encoded_image", "input__0", "crop", "texts", "UINT8",
    "BYTES", "FP32", "[1]", "roi", "max_plates", "timeout", "detection_threshold", "id", "NaN",
    "Infinity", "1e308", "\\\\ud800", "boundary=", "multipart/form-data", "form-data", "filename=",
    "Content-Disposition", "--the-boundary", "\\x0d\\x0a", "plate_recognition", "\\x2a\\x02",
)  # fmt: skip
JSON_DOORS = ("kserve", "kserve-reader")


def mutate(packed: bytes, max_bytes: int, seed: int) -> bytes:
    """Return a mutated request, often with the correct size of its JSON."""
    request = unpack(atheris.Mutate(packed, max_bytes))
    if request.door in JSON_DOORS and seed % 4:
        request = replace(request, metadata=str(request.body.rfind(b"}") + 1))
    return pack(request)[:max_bytes]


if __name__ == "__main__":
    seeds = (pack(request) for request in requests().values() if len(request.body) <= MAX_BYTES)
    run(lambda packed: ask(unpack(packed)), seeds, WORDS, mutate)
