"""The gRPC port: answers and errors for tritonclient, limits, and addresses of clients."""

import asyncio
import logging
import struct
from contextlib import closing

import anyio
import grpc
import pytest
from tritonclient.grpc import InferRequestedOutput
from tritonclient.grpc import service_pb2 as pb
from tritonclient.utils import InferenceServerException

from orchestrator.errors import PictureError
from orchestrator.serving.gateway.errors import NotFound, QuotaExceeded, ServiceFull
from orchestrator.serving.gateway.grpc.server import address_of
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.protocol.inference import InferenceRequest, Tensor
from tests.serving.gateway.grpc_fakes import (
    MIB,
    MODEL,
    PARENT,
    FakeService,
    ask,
    picture,
    request,
    serving,
)


async def test_a_call_of_tritonclient_is_answered() -> None:
    service = FakeService()
    result = await ask(
        service,
        lambda client: client.infer(
            MODEL,
            [picture()],
            outputs=[InferRequestedOutput("texts")],
            request_id="7",
            parameters={"max_plates": 3, "text_threshold": 0.5},
            timeout=1000,
            headers={"authorization": "Bearer key", "traceparent": PARENT},
        ),
    )
    assert result.as_numpy("texts").tolist() == [[b"A001AA77"]]
    assert result.get_response().id == "7"
    assert service.calls == [
        InferenceRequest(
            MODEL,
            (Tensor("input__0", "UINT8", (2, 3, 3), bytes(range(18))),),
            outputs=("texts",),
            id="7",
            parameters={"max_plates": 3, "text_threshold": 0.5, "timeout": 1000},
            trace={"traceparent": PARENT},
        )
    ]
    ((kind, address, headers),) = service.admissions
    assert (kind, address, dict(headers)["authorization"]) == ("infer", "127.0.0.1", "Bearer key")
    assert 18 < service.size < 300


async def test_questions_of_tritonclient_are_answered() -> None:
    async def question(client) -> None:
        assert await client.is_server_live() is True
        assert await client.is_server_ready() is False
        assert await client.is_model_ready(MODEL, "1") is True
        assert (await client.get_server_metadata()).name == "gateway"
        metadata = await client.get_model_metadata(MODEL, "1")
        assert (metadata.name, list(metadata.versions)) == (MODEL, ["1"])
        assert (await client.get_model_config(MODEL)).config.name == MODEL

    await ask(FakeService(), question)


@pytest.mark.parametrize(
    ("question", "status"),
    [
        pytest.param(lambda client: client.is_model_ready("yolo"), "NOT_FOUND", id="model"),
        *(
            pytest.param(question, "UNIMPLEMENTED", id=name)
            for name, question in {
                "index": lambda client: client.get_model_repository_index(),
                "unload": lambda client: client.unload_model("yolo"),
                "statistics": lambda client: client.get_inference_statistics(),
                "log": lambda client: client.update_log_settings({"log_info": False}),
                "shared": lambda client: client.register_system_shared_memory("x", "/x", 1),
            }.items()
        ),
    ],
)
async def test_nothing_else_is_served(question, status: str, caplog) -> None:
    with pytest.raises(InferenceServerException) as raised:
        await ask(FakeService(), question)
    assert raised.value.status() == f"StatusCode.{status}"
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("error", "code", "message", "retry_after"),
    [
        (PictureError("no picture"), "INVALID_ARGUMENT", "no picture", None),
        (NotFound("no model"), "NOT_FOUND", "no model", None),
        (QuotaExceeded("too many", 1.2), "RESOURCE_EXHAUSTED", "too many", "2"),
        (ServiceFull("full", 0.5), "UNAVAILABLE", "full", "1"),
        (ZeroDivisionError("secret"), "INTERNAL", "could not answer", None),
    ],
)
async def test_each_error_has_its_code_and_says_when_to_try_again(
    error: Exception, code: str, message: str, retry_after: str | None, caplog
) -> None:
    async with serving(FakeService(error)) as stub:
        call = stub.ModelInfer(request())
        assert (await call.code()).name == code
        details, metadata = await call.details(), dict(await call.trailing_metadata())
    assert message in details
    assert "secret" not in details
    assert metadata.get("retry-after") == retry_after
    is_logged = any(record.levelno >= logging.WARNING for record in caplog.records)
    assert code == "INTERNAL" or not is_logged


async def test_a_stream_of_calls_is_not_implemented() -> None:
    async with serving(FakeService()) as stub:
        assert (await stub.ModelStreamInfer(iter([request()])).code()).name == "UNIMPLEMENTED"


@pytest.mark.parametrize(
    ("method", "message", "code"),
    [
        ("ModelInfer", b"\xff\xff", "INVALID_ARGUMENT"),
        ("ModelInfer", b"\x32\0" * 1000, "INVALID_ARGUMENT"),
        ("ModelReady", b"\xff\xff", "INVALID_ARGUMENT"),
        ("ModelReady", bytes(MIB), "RESOURCE_EXHAUSTED"),
    ],
    ids=["no call", "empty inputs", "no question", "large question"],
)
async def test_bytes_that_are_no_message_are_admitted_like_a_call_and_refused(
    method: str, message: bytes, code: str
) -> None:
    service = FakeService()
    async with serving(service) as stub:
        call = stub.channel.unary_unary(f"/inference.GRPCInferenceService/{method}")(message)
        assert (await call.code()).name == code
    assert (len(service.admissions), service.calls) == (1, [])


@pytest.mark.parametrize(
    ("size", "options", "code"),
    [
        pytest.param(9 * MIB, {}, "RESOURCE_EXHAUSTED", id="larger"),
        pytest.param(MIB, {"compression": grpc.Compression.Gzip}, "UNIMPLEMENTED", id="gzip"),
        pytest.param(MIB, {"compression": grpc.Compression.Deflate}, "UNIMPLEMENTED", id="deflate"),
        pytest.param(
            18, {"metadata": (("x", "x" * 40_000),)}, "RESOURCE_EXHAUSTED", id="long headers"
        ),
    ],
)
async def test_a_call_beyond_the_limits_is_refused(size: int, options: dict, code: str) -> None:
    service = FakeService()
    async with serving(service) as stub:
        assert (await stub.ModelInfer(request(size), **options).code()).name == code
        assert service.calls == []
        assert (await stub.ModelInfer(request(8 * MIB))).model_name == MODEL  # as large as allowed


async def test_a_message_that_does_not_come_is_not_waited_for() -> None:
    async with serving(FakeService(), Limits(calls=4, body_s=0.01)) as stub:
        with pytest.raises(grpc.RpcError) as raised:
            await stub.channel.stream_unary("/inference.GRPCInferenceService/ModelInfer")()
    assert raised.value.code().name == "DEADLINE_EXCEEDED"
    assert "message: wanted within 0.01 s" in raised.value.details()


async def test_more_calls_at_once_are_refused() -> None:
    service = FakeService(free=asyncio.Event())
    async with serving(service, Limits(calls=1, connections=2)) as stub:
        delayed = [asyncio.ensure_future(stub.ModelInfer(request())) for _ in range(2)]
        await service.events.get()
        await service.events.get()
        assert (await stub.ModelInfer(request()).code()).name == "RESOURCE_EXHAUSTED"
        service.free.set()
        assert len(await asyncio.gather(*delayed)) == 2


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame of HTTP/2. Source: RFC 9113, section 4.1."""
    return (
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", stream) + payload
    )


def field(name: bytes, value: bytes) -> bytes:
    """Return a literal header field. Source: RFC 7541, section 6.2.2."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


DATA, HEADERS, SETTINGS, END_STREAM, END_HEADERS, NO_WINDOW = 0, 1, 4, 1, 4, b"\0\4\0\0\0\0"
LIVE = (
    field(b":method", b"POST")
    + field(b":scheme", b"http")
    + field(b":path", b"/inference.GRPCInferenceService/ServerLive")
    + field(b":authority", b"localhost")
    + field(b"content-type", b"application/grpc")
    + field(b"te", b"trailers")
)


async def test_a_caller_that_takes_no_answer_leaves_calls_to_other_addresses() -> None:
    # gRPC's own limit counts a refused call for a moment longer than its caller does. So it must be
    # higher than all calls of this test.
    limits = Limits(calls=4, connections=16, client_connections=2)
    async with serving(FakeService(), limits) as stub:
        port = int(stub.address.rpartition(":")[2])
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, local_addr=("127.0.0.2", 0)
        )
        with closing(writer), anyio.fail_after(20):
            writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, NO_WINDOW))
            for stream in range(1, 20, 2):
                writer.write(frame(HEADERS, END_HEADERS, stream, LIVE))
                writer.write(frame(DATA, END_STREAM, stream, bytes(5)))
            await read_ends(reader, count=8)  # two calls wait for their caller
            assert (await stub.ServerLive(pb.ServerLiveRequest())).live


async def read_ends(reader: asyncio.StreamReader, count: int) -> None:
    """Read frames until so many calls have ended with a status alone."""
    while count:
        head = await reader.readexactly(9)
        await reader.readexactly(int.from_bytes(head[:3], "big"))
        count -= head[3] == HEADERS and bool(head[4] & END_STREAM)


async def test_calls_that_have_ended_do_not_count_for_their_address() -> None:
    service = FakeService(free=asyncio.Event())
    async with serving(service, Limits(calls=4, client_connections=1)) as stub:
        with anyio.fail_after(20):
            first = asyncio.ensure_future(stub.ModelInfer(request()))
            assert await service.events.get() == "call"
            with pytest.raises(grpc.aio.AioRpcError, match="calls at once from one address"):
                await stub.ModelInfer(request())
            service.free.set()
            await first
            await stub.ServerLive(pb.ServerLiveRequest())
            await stub.ServerLive(pb.ServerLiveRequest())


async def test_a_call_of_a_client_that_hangs_up_is_cancelled(caplog) -> None:
    service = FakeService(free=asyncio.Event())
    async with serving(service) as stub:
        call = stub.ModelInfer(request())
        waiting = asyncio.ensure_future(call.code())
        assert await service.events.get() == "call"
        call.cancel()
        await waiting
        assert await service.events.get() == "cancelled"
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:127.0.0.1:1234", "127.0.0.1"),
        ("ipv6:[::1]:1234", "::1"),
        ("ipv6:%5B::1%5D:1234", "::1"),
        ("ipv6:%5Bfe80::1%25eth0%5D:1234", "fe80::1%eth0"),
        ("unix:", ""),
    ],
)
def test_the_address_of_a_peer(peer: str, address: str) -> None:
    assert address_of(peer) == address
