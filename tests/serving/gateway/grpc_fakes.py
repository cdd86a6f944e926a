"""A fake service behind the gateway's gRPC port."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import grpc
import numpy as np
from tritonclient.grpc import InferInput
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from orchestrator.host.loopback import PAST_PROXY
from orchestrator.serving.gateway.errors import NotFound
from orchestrator.serving.gateway.grpc.server import Servicer, make_server
from orchestrator.serving.gateway.options import Address, Limits
from orchestrator.serving.protocol.bytes_tensors import encode
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, Tensor
from orchestrator.serving.supervisor.ports import free_ports

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
MODEL = "plate_recognition"
LIMITS = Limits(calls=4, body_mb=8)
TEXTS = Tensor("texts", "BYTES", (1, 1), encode([b"A001AA77"]))
OPTIONS = [("grpc.max_send_message_length", -1), PAST_PROXY]
MIB = 1024 * 1024


@dataclass
class FakeService:
    """A service that answers every call with one text, rejects it, or holds it."""

    error: Exception | None = None
    free: asyncio.Event | None = None
    admissions: list[Any] = field(default_factory=list)
    calls: list[InferenceRequest] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    events: asyncio.Queue = field(default_factory=asyncio.Queue)

    @asynccontextmanager
    async def admit(
        self, protocol: str, kind: str, address: str, headers: Mapping[str, str]
    ) -> AsyncIterator[Any]:
        self.admissions.append((kind, address, headers))
        try:
            yield None
        except asyncio.CancelledError:
            self.cancelled.append(kind)
            self.events.put_nowait("cancelled")
            raise

    connections = SimpleNamespace(proxies=None)

    @property
    def admission(self) -> "FakeService":
        return self

    @property
    def slots(self) -> "FakeService":
        return self

    def reserve(self, _call: None, size: int) -> None:
        self.size = size

    def receive(self, _call: None) -> AbstractContextManager[None]:
        return nullcontext()

    async def infer(self, _call: None, call: InferenceRequest) -> InferenceResponse:
        self.calls.append(call)
        self.events.put_nowait("call")
        if self.free:
            await self.free.wait()
        if self.error:
            raise self.error
        return InferenceResponse(call.model, "1", call.id, (TEXTS,))

    async def is_live(self) -> bool:
        return True

    async def is_ready(self) -> bool:
        return False

    async def is_model_ready(self, model: str, version: str) -> bool:
        if model != MODEL:
            raise NotFound(f"model: wanted {MODEL}, got {model}")
        return version == "1"

    async def metadata_of(self, model: str, version: str) -> Any:
        return pb.ModelMetadataResponse(name=model, versions=[version])

    async def config_of(self, model: str, version: str) -> Any:
        response = pb.ModelConfigResponse()
        response.config.name = model
        return response

    def server_metadata(self) -> Any:
        return SimpleNamespace(name="gateway", version="0", extensions=["binary_tensor_data"])


@asynccontextmanager
async def serving(
    service: FakeService, limits: Limits = LIMITS
) -> AsyncIterator[GRPCInferenceServiceStub]:
    """Serve on a free port for the length of a block; gives a stub with its `channel`."""
    listen_address = Address("127.0.0.1", free_ports(1)[0])
    server, address = (
        make_server(Servicer(service, limits), listen_address, None),
        str(listen_address),
    )
    await server.start()
    try:
        async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
            stub = GRPCInferenceServiceStub(channel)
            stub.channel, stub.address = channel, address
            yield stub
    finally:
        await server.stop(None)


async def ask(
    service: FakeService, question: Callable[[InferenceServerClient], Awaitable[Any]]
) -> Any:
    """Return the answer that tritonclient gets."""
    async with (
        serving(service) as stub,
        InferenceServerClient(stub.address, channel_args=OPTIONS) as client,
    ):
        return await question(client)


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
