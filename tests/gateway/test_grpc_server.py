import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import grpc
import numpy as np
import pytest
from tritonclient.grpc import InferInput, InferRequestedOutput
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub
from tritonclient.utils import InferenceServerException

from orchestrator.errors import PictureError
from orchestrator.gateway.calls import Answer, Call, Tensor
from orchestrator.gateway.elements import encode
from orchestrator.gateway.grpc_server import Servicer, address_of, make_server
from orchestrator.gateway.options import Limits
from orchestrator.gateway.refusals import Full, NotServed, TooMany
from orchestrator.loopback import PAST_PROXY
from orchestrator.server.ports import free_ports
from tests.gateway.loops import run

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
MODEL = "plate_recognition"
LIMITS = Limits(calls=4, body_mb=8)
TEXTS = Tensor("texts", "BYTES", (1, 1), encode([b"A001AA77"]))
OPTIONS = [("grpc.max_send_message_length", -1), PAST_PROXY]
MIB = 1024 * 1024


@dataclass
class FakeService:
    """Answers one text to every call, or refuses it; holds calls where it is told to."""

    error: Exception | None = None
    free: asyncio.Event | None = None
    visits: list[Any] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    seen: asyncio.Queue = field(default_factory=asyncio.Queue)

    @asynccontextmanager
    async def visit(
        self, front: str, what: str, address: str, headers: Mapping[str, str]
    ) -> AsyncIterator[Any]:
        self.visits.append((what, address, headers))
        try:
            yield self
        except asyncio.CancelledError:
            self.cancelled.append(what)
            self.seen.put_nowait("cancelled")
            raise

    def expect(self, size: int) -> None:
        self.size = size

    async def infer(self, call: Call) -> Answer:
        self.calls.append(call)
        self.seen.put_nowait("call")
        if self.free:
            await self.free.wait()
        if self.error:
            raise self.error
        return Answer(call.model, "1", call.id, (TEXTS,))

    async def is_live(self) -> bool:
        return True

    async def is_ready(self) -> bool:
        return False

    async def is_model_ready(self, model: str, version: str) -> bool:
        if model != MODEL:
            raise NotServed(f"model: wanted {MODEL}, got {model}")
        return version == "1"

    async def metadata_of(self, model: str, version: str) -> Any:
        return pb.ModelMetadataResponse(name=model, versions=[version])

    async def config_of(self, model: str, version: str) -> Any:
        response = pb.ModelConfigResponse()
        response.config.name = model
        return response

    def server_metadata(self) -> Any:
        return SimpleNamespace(name="gateway", version="0", extensions=["binary_tensor_data"])


Conversation = Callable[[grpc.aio.Channel], Awaitable[Any]]


def talk(service: FakeService, conversation: Conversation, limits: Limits = LIMITS) -> Any:
    """Serve on a free port, and return what a conversation over a channel returns."""

    async def serve() -> Any:
        address = f"127.0.0.1:{free_ports(1)[0]}"
        server = make_server(Servicer(service, limits), address, limits, None)
        await server.start()
        try:
            async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
                channel.address = address
                return await conversation(channel)
        finally:
            await server.stop(None)

    return run(serve())


def ask(service: FakeService, question: Callable[[InferenceServerClient], Awaitable[Any]]) -> Any:
    """Return what tritonclient is answered."""

    async def conversation(channel: Any) -> Any:
        async with InferenceServerClient(channel.address, channel_args=OPTIONS) as client:
            return await question(client)

    return talk(service, conversation)


def picture() -> InferInput:
    tensor = InferInput("input__0", [2, 3, 3], "UINT8")
    return tensor.set_data_from_numpy(np.arange(18, dtype=np.uint8).reshape(2, 3, 3))


def infer(client: InferenceServerClient) -> Awaitable[Any]:
    return client.infer(MODEL, [picture()])


def request(size: int = 18) -> pb.ModelInferRequest:
    return pb.ModelInferRequest(
        model_name=MODEL,
        inputs=[pb.ModelInferRequest.InferInputTensor(name="a", datatype="UINT8", shape=[size])],
        raw_input_contents=[bytes(size)],
    )


def refusal(service: FakeService, conversation: Conversation, limits: Limits = LIMITS) -> Any:
    """Return the error that a conversation ends with."""
    with pytest.raises(grpc.RpcError) as raised:
        talk(service, conversation, limits)
    return raised.value


class TestTritonclient:
    def test_a_call_is_answered(self) -> None:
        service = FakeService()
        result = ask(
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
            Call(
                MODEL,
                (Tensor("input__0", "UINT8", (2, 3, 3), bytes(range(18))),),
                outputs=("texts",),
                id="7",
                parameters={"max_plates": 3, "text_threshold": 0.5, "timeout": 1000},
                trace={"traceparent": PARENT},
            )
        ]

    def test_a_visit_knows_who_comes_with_how_much(self) -> None:
        service = FakeService()
        ask(service, lambda client: client.infer(MODEL, [picture()], headers={"x-key": "1"}))
        ((what, address, headers),) = service.visits
        assert (what, address, headers["x-key"]) == ("infer", "127.0.0.1", "1")
        assert 18 < service.size < 100

    def test_questions_are_answered(self) -> None:
        service = FakeService()
        assert ask(service, lambda client: client.is_server_live()) is True
        assert ask(service, lambda client: client.is_server_ready()) is False
        assert ask(service, lambda client: client.is_model_ready(MODEL, "1")) is True
        assert ask(service, lambda client: client.get_server_metadata()).name == "gateway"
        metadata = ask(service, lambda client: client.get_model_metadata(MODEL, "1"))
        assert (metadata.name, list(metadata.versions)) == (MODEL, ["1"])
        assert ask(service, lambda client: client.get_model_config(MODEL)).config.name == MODEL

    def test_another_model_is_not_found(self) -> None:
        with pytest.raises(InferenceServerException, match=f"wanted {MODEL}, got yolo") as raised:
            ask(FakeService(), lambda client: client.is_model_ready("yolo"))
        assert raised.value.status() == "StatusCode.NOT_FOUND"

    @pytest.mark.parametrize(
        "question",
        [
            pytest.param(lambda client: client.get_model_repository_index(), id="index"),
            pytest.param(lambda client: client.unload_model("yolo"), id="unload"),
            pytest.param(lambda client: client.get_inference_statistics(), id="statistics"),
            pytest.param(lambda client: client.update_log_settings({"log_info": False}), id="log"),
            pytest.param(lambda client: client.register_system_shared_memory("x", "/x", 1),
                         id="shared memory"),
        ],
    )  # fmt: skip
    def test_nothing_else_is_implemented(self, question, caplog) -> None:
        with pytest.raises(InferenceServerException) as raised:
            ask(FakeService(), question)
        assert raised.value.status() == "StatusCode.UNIMPLEMENTED"
        assert caplog.messages == []


class TestRefusals:
    @pytest.mark.parametrize(
        ("error", "code", "message"),
        [
            pytest.param(
                PictureError("no picture"), "INVALID_ARGUMENT", "no picture", id="picture"
            ),
            pytest.param(NotServed("no model"), "NOT_FOUND", "no model", id="model"),
            pytest.param(TooMany("too many"), "RESOURCE_EXHAUSTED", "too many", id="rate"),
            pytest.param(Full("full"), "UNAVAILABLE", "full", id="full"),
        ],
    )
    def test_each_has_its_code(self, error: Exception, code: str, message: str, caplog) -> None:
        with pytest.raises(InferenceServerException, match=message) as raised:
            ask(FakeService(error), infer)
        assert raised.value.status() == f"StatusCode.{code}"
        assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []

    def test_a_fault_of_ours_is_not_told(self) -> None:
        with pytest.raises(InferenceServerException, match="could not answer") as raised:
            ask(FakeService(ZeroDivisionError("secret")), infer)
        assert raised.value.status() == "StatusCode.INTERNAL"
        assert "secret" not in raised.value.message()

    def test_it_says_when_to_try_again(self) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            await GRPCInferenceServiceStub(channel).ModelInfer(request())

        error = refusal(FakeService(TooMany("slowly", 1.2)), conversation)
        assert dict(error.trailing_metadata())["retry-after"] == "2"
        error = refusal(FakeService(PictureError("no")), conversation)
        assert "retry-after" not in dict(error.trailing_metadata())

    def test_a_stream_of_calls_is_not_implemented(self) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            stream = GRPCInferenceServiceStub(channel).ModelStreamInfer(iter([request()]))
            await stream.read()

        assert refusal(FakeService(), conversation).code().name == "UNIMPLEMENTED"

    @pytest.mark.parametrize("message", [b"\xff\xff", b"\x32\0" * 1000])
    def test_bytes_that_are_no_call_are_counted_as_a_visit(self, message: bytes) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            await channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")(message)

        service = FakeService()
        assert refusal(service, conversation).code().name == "INVALID_ARGUMENT"
        assert (len(service.visits), service.calls) == (1, [])

    @pytest.mark.parametrize(
        ("message", "code"), [(b"\xff\xff", "INVALID_ARGUMENT"), (bytes(MIB), "RESOURCE_EXHAUSTED")]
    )
    def test_bytes_that_are_no_question_are_refused(self, message: bytes, code: str) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            await channel.unary_unary("/inference.GRPCInferenceService/ModelReady")(message)

        assert refusal(FakeService(), conversation).code().name == code


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
            held = [asyncio.ensure_future(call(request())) for _ in range(2)]
            await service.seen.get()
            await service.seen.get()
            with pytest.raises(grpc.RpcError) as raised:
                await call(request())
            service.free.set()
            answers = await asyncio.gather(*held)
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
