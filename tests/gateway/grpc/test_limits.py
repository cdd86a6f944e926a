"""Limits of the gRPC port, and the addresses of its clients."""

import asyncio
import logging
from typing import Any

import grpc
import pytest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from orchestrator.gateway.grpc.server import address_of
from orchestrator.gateway.options import Limits
from tests.gateway.grpc_fakes import (
    MIB,
    MODEL,
    FakeService,
    refusal,
    request,
    talk,
)


class TestLimits:
    def test_a_body_may_be_as_large_as_allowed(self) -> None:
        async def conversation(channel: grpc.aio.Channel) -> Any:
            return await GRPCInferenceServiceStub(channel).ModelInfer(request(8 * MIB))

        assert talk(FakeService(), conversation).model_name == MODEL

    def test_a_larger_body_is_refused(self) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            await GRPCInferenceServiceStub(channel).ModelInfer(request(9 * MIB))

        service = FakeService()
        assert refusal(service, conversation).code().name == "RESOURCE_EXHAUSTED"
        assert service.calls == []

    @pytest.mark.parametrize("kind", [grpc.Compression.Gzip, grpc.Compression.Deflate])
    def test_a_compressed_body_is_refused(self, kind: grpc.Compression) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            call = GRPCInferenceServiceStub(channel).ModelInfer
            await call(request(MIB), compression=kind)

        service = FakeService()
        assert refusal(service, conversation).code().name == "UNIMPLEMENTED"
        assert service.calls == []

    def test_long_headers_are_refused(self) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            call = GRPCInferenceServiceStub(channel).ModelInfer
            await call(request(), metadata=(("x", "x" * 40_000),))

        assert refusal(FakeService(), conversation).code().name == "RESOURCE_EXHAUSTED"

    def test_a_message_that_does_not_come_is_not_waited_for(self) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            call = channel.stream_unary("/inference.GRPCInferenceService/ModelInfer")()
            await call

        limits = Limits(calls=4, body_s=0.01)
        error = refusal(FakeService(), conversation, limits)
        assert error.code().name == "DEADLINE_EXCEEDED"
        assert "message: wanted within 0.01 s" in error.details()

    def test_a_call_without_a_message_is_refused(self) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            call = channel.stream_unary("/inference.GRPCInferenceService/ModelInfer")()
            await call.done_writing()
            await call

        assert refusal(FakeService(), conversation).details() == "message: wanted one, got none"

    def test_more_calls_at_once_are_refused(self) -> None:
        async def conversation(channel: grpc.aio.Channel) -> Any:
            service.free = asyncio.Event()
            call = GRPCInferenceServiceStub(channel).ModelInfer
            delayed = [asyncio.ensure_future(call(request())) for _ in range(2)]
            await service.seen.get()
            await service.seen.get()
            with pytest.raises(grpc.RpcError) as raised:
                await call(request())
            service.free.set()
            answers = await asyncio.gather(*delayed)
            return raised.value.code().name, len(answers)

        service = FakeService()
        limits = Limits(calls=1, connections=2)
        assert talk(service, conversation, limits) == ("RESOURCE_EXHAUSTED", 2)

    def test_a_caller_who_hangs_up_is_cancelled(self, caplog) -> None:
        async def conversation(channel: grpc.aio.Channel) -> Any:
            service.free = asyncio.Event()
            call = GRPCInferenceServiceStub(channel).ModelInfer(request())
            waiting = asyncio.ensure_future(call.code())
            assert await service.seen.get() == "call"
            call.cancel()
            await waiting
            return await service.seen.get()

        service = FakeService()
        assert talk(service, conversation) == "cancelled"
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
