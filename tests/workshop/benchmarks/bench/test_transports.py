"""Requests of each transport.

tests/integration/shared_server/test_bench.py sends them to a real server.
"""

from pathlib import Path

import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from orchestrator.errors import ServerError
from workshop.benchmarks.bench.plan import Address
from workshop.benchmarks.bench.transports import REGION, build_request, connect
from workshop.benchmarks.pictures import Picture

PICTURE = Picture("grey", b"JPEG", np.full((2, 3, 3), 7, np.uint8))
NOWHERE = Address("127.0.0.1:1", "127.0.0.1:1")


def test_a_picture_goes_as_its_file_or_its_pixels() -> None:
    assert build_request(PICTURE, "http-encoded").body.endswith(b"\4\0\0\0JPEG")
    assert build_request(PICTURE, "http-raw").body.endswith(b"}" + bytes([7] * 18))
    for region, contents in (("", [bytes([7] * 18)]), ("ours", [])):
        message = service_pb2.ModelInferRequest.FromString(
            build_request(PICTURE, "grpc", region).body
        )
        assert [*message.raw_input_contents] == contents


def test_a_call_without_an_answer_has_its_status_and_the_reason() -> None:
    with connect("http-raw", PICTURE, NOWHERE) as send:
        assert send(0).error.startswith("lost: ConnectionRefusedError")


def test_a_server_without_shared_memory_is_an_error_and_leaves_nothing() -> None:
    with (
        pytest.raises(ServerError, match="shared memory: wanted 18 bytes there, got "),
        connect("grpc-shm", PICTURE, NOWHERE),
    ):
        pass
    assert not list(Path("/dev/shm").glob(f"{REGION}*"))
