"""The gRPC port: what of KServe v2 is answered there, how it is refused, and its limits."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol
from urllib.parse import unquote

import grpc
from tritonclient.grpc import service_pb2 as pb

from orchestrator.errors import PlateError, RequestError
from orchestrator.gateway.calls import Answer, Call
from orchestrator.gateway.kserve_grpc import parse_message, parse_request, to_call, to_response
from orchestrator.gateway.options import Limits
from orchestrator.gateway.refusals import TooLarge, TooSlow, outcome_of

LOG = logging.getLogger(__name__)
SERVICE = pb.DESCRIPTOR.services_by_name["GRPCInferenceService"]
TRACE = ("traceparent", "tracestate")
FRONT, INFER = "kserve-grpc", "infer"
LARGEST_QUESTION = 65_536
"""Bytes of a message that is no infer call; and what such a call may have beside its body."""
NO_COMPRESSION = 1
"""Bit set of the algorithms that are understood: a compressed message is refused unread."""


class Visit(Protocol):
    """A client's call between its admission and its end."""

    def expect(self, size: int) -> None:
        """Make room for a message of a size in bytes."""

    async def infer(self, call: Call) -> Answer:
        """Answer the call."""


class About(Protocol):
    """What the server says of itself."""

    name: str
    version: str
    extensions: Sequence[str]


class Service(Protocol):
    """What a call means, whatever protocol it came by. Everything may raise a PlateError."""

    def visit(
        self, front: str, what: str, address: str, headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[Visit]:
        """Admit a client's call, and count how it ends."""

    async def is_live(self) -> bool:
        """Tell whether the server runs."""

    async def is_ready(self) -> bool:
        """Tell whether it can answer."""

    async def is_model_ready(self, model: str, version: str) -> bool:
        """Tell whether a model can answer."""

    async def metadata_of(self, model: str, version: str) -> Any:
        """Return a `ModelMetadataResponse`."""

    async def config_of(self, model: str, version: str) -> Any:
        """Return a `ModelConfigResponse`."""

    def server_metadata(self) -> About:
        """Return what the server says of itself."""


class Servicer(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Answers what tritonclient asks of a model; whatever else there is, gRPC calls UNIMPLEMENTED.

    Not the generated base class: that reads and parses a message before anybody may look at how
    long that takes and what it becomes in memory.
    """

    def __init__(self, service: Service, limits: Limits) -> None:
        self._service = service
        self._limits = limits
        answers: dict[str, Callable[[Any], Awaitable[Any]]] = {
            "ServerLive": self._server_live,
            "ServerReady": self._server_ready,
            "ServerMetadata": self._server_metadata,
            "ModelReady": self._model_ready,
            "ModelMetadata": self._model_metadata,
            "ModelConfig": self._model_config,
        }
        self._handlers = {name: self._ask(name, answer) for name, answer in answers.items()}
        self._handlers["ModelInfer"] = self._handle(self._infer)

    def service(self, handler_call_details: Any) -> Any:
        """Return what answers a method; None where nothing does."""
        path, _, method = handler_call_details.method.rpartition("/")
        return self._handlers.get(method) if path == f"/{SERVICE.full_name}" else None

    def _ask(self, name: str, answer: Callable[[Any], Awaitable[Any]]) -> Any:
        kind = getattr(pb, SERVICE.methods_by_name[name].input_type.name)

        async def ask(context: Any) -> Any:
            message = await self._read(context)
            if len(message) > LARGEST_QUESTION:
                raise TooLarge(f"message: wanted up to {LARGEST_QUESTION} bytes, got more")
            return await answer(parse_message(kind, message))

        return self._handle(ask)

    def _handle(self, answer: Callable[[Any], Awaitable[Any]]) -> Any:
        """Return the handler of a method: of a stream, so that it is ours to await its message."""

        async def handle(_messages: Any, context: Any) -> bytes:
            async with _refusing(context):
                response = await answer(context)
            message: bytes = response.SerializeToString()
            return message

        return grpc.stream_unary_rpc_method_handler(handle)

    async def _read(self, context: Any) -> bytes:
        """Return the one message of a call."""
        try:
            message = await asyncio.wait_for(context.read(), self._limits.body_s)
        except asyncio.TimeoutError as error:
            raise TooSlow(
                f"message: wanted within {self._limits.body_s:g} s, got a part"
            ) from error
        if not isinstance(message, bytes):
            raise RequestError("message: wanted one, got none")
        return message

    async def _infer(self, context: Any) -> Any:
        headers = {k: v for k, v in context.invocation_metadata() if isinstance(v, str)}
        trace = {name: headers[name] for name in TRACE if name in headers}
        address = address_of(context.peer())
        async with self._service.visit(FRONT, INFER, address, headers) as visit:
            message = await self._read(context)
            visit.expect(len(message))  # known only now: HTTP/2 announces no size
            return to_response(await visit.infer(to_call(parse_request(message), trace)))

    async def _server_live(self, _request: Any) -> Any:
        return pb.ServerLiveResponse(live=await self._service.is_live())

    async def _server_ready(self, _request: Any) -> Any:
        return pb.ServerReadyResponse(ready=await self._service.is_ready())

    async def _server_metadata(self, _request: Any) -> Any:
        about = self._service.server_metadata()
        return pb.ServerMetadataResponse(
            name=about.name, version=about.version, extensions=about.extensions
        )

    async def _model_ready(self, request: Any) -> Any:
        is_ready = await self._service.is_model_ready(request.name, request.version)
        return pb.ModelReadyResponse(ready=is_ready)

    async def _model_metadata(self, request: Any) -> Any:
        return await self._service.metadata_of(request.name, request.version)

    async def _model_config(self, request: Any) -> Any:
        return await self._service.config_of(request.name, request.version)


def address_of(peer: str) -> str:
    """Return the IP address of a gRPC peer, `ipv4:ADDRESS:PORT` or `ipv6:[ADDRESS]:PORT`."""
    _, _, address = unquote(peer).partition(":")
    return address.rpartition(":")[0].strip("[]")


@asynccontextmanager
async def _refusing(context: Any) -> AsyncIterator[None]:
    """Tell the caller of what goes wrong; one who has hung up is told nothing."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, PlateError):
            LOG.exception("a call failed in the gateway")
        outcome = outcome_of(error)
        again = outcome.retry_after_s
        await context.abort(
            grpc.StatusCode[outcome.code],
            outcome.message,
            () if again is None else (("retry-after", str(math.ceil(again))),),
        )


def make_server(
    servicer: Servicer, address: str, limits: Limits, credentials: grpc.ServerCredentials | None
) -> grpc.aio.Server:
    """Return a gRPC server that listens at an address once it is started.

    Args:
        servicer: Answers the calls.
        address: `host:port`.
        limits: `calls` and `waiting` together are answered at once, the next is refused unread.
        credentials: Of TLS; none when None.

    Raises:
        RuntimeError: The address cannot be had.
    """
    server = grpc.aio.server(
        handlers=(servicer,),
        options=_options(limits),
        maximum_concurrent_rpcs=limits.calls + limits.waiting,
    )
    if credentials is None:
        server.add_insecure_port(address)
    else:
        server.add_secure_port(address, credentials)
    return server


def _options(limits: Limits) -> list[tuple[str, int]]:
    header_bytes = limits.header_kb * 1024
    return [
        ("grpc.max_receive_message_length", limits.body_bytes + LARGEST_QUESTION),
        ("grpc.max_metadata_size", header_bytes),
        ("grpc.absolute_max_metadata_size", header_bytes),
        ("grpc.compression_enabled_algorithms_bitset", NO_COMPRESSION),
        ("grpc.so_reuseport", 1),
        ("grpc.server_handshake_timeout_ms", round(limits.header_s * 1000)),
        ("grpc.max_connection_idle_ms", round(limits.idle_s * 1000)),
    ]
