"""Limits of the gRPC port, and the addresses of its clients."""

import asyncio
import logging

import grpc
import pytest

from orchestrator.serving.gateway.grpc.server import address_of
from orchestrator.serving.gateway.options import Limits
from tests.serving.gateway.grpc_fakes import MIB, MODEL, FakeService, request, serving

INFER = "/inference.GRPCInferenceService/ModelInfer"


async def test_a_body_may_be_as_large_as_allowed() -> None:
    async with serving(FakeService()) as stub:
        assert (await stub.ModelInfer(request(8 * MIB))).model_name == MODEL


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
        with pytest.raises(grpc.RpcError) as raised:
            await stub.ModelInfer(request(size), **options)
    assert (raised.value.code().name, service.calls) == (code, [])


async def test_a_message_that_does_not_come_is_not_waited_for() -> None:
    async with serving(FakeService(), Limits(calls=4, body_s=0.01)) as stub:
        with pytest.raises(grpc.RpcError) as raised:
            await stub.channel.stream_unary(INFER)()
    assert raised.value.code().name == "DEADLINE_EXCEEDED"
    assert "message: wanted within 0.01 s" in raised.value.details()


async def test_more_calls_at_once_are_refused() -> None:
    service = FakeService(free=asyncio.Event())
    async with serving(service, Limits(calls=1, connections=2)) as stub:
        delayed = [asyncio.ensure_future(stub.ModelInfer(request())) for _ in range(2)]
        await service.seen.get()
        await service.seen.get()
        assert (await stub.ModelInfer(request()).code()).name == "RESOURCE_EXHAUSTED"
        service.free.set()
        assert len(await asyncio.gather(*delayed)) == 2


async def test_a_call_of_a_client_that_hangs_up_is_cancelled(caplog) -> None:
    service = FakeService(free=asyncio.Event())
    async with serving(service) as stub:
        call = stub.ModelInfer(request())
        waiting = asyncio.ensure_future(call.code())
        assert await service.seen.get() == "call"
        call.cancel()
        await waiting
        assert await service.seen.get() == "cancelled"
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
