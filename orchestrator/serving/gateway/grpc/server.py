"""The gRPC port: the methods of KServe v2 that it serves, its refusals and its limits."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any
from urllib.parse import unquote

import grpc
from tritonclient.grpc import service_pb2 as pb

from orchestrator.errors import PlateError
from orchestrator.serving.gateway.call import Call
from orchestrator.serving.gateway.data_plane import DataPlane, Headers
from orchestrator.serving.gateway.errors import (
    RETRY_AFTER_S,
    BodyTooLarge,
    Outcome,
    QuotaExceeded,
    UnsupportedMedia,
    outcome_of,
)
from orchestrator.serving.gateway.grpc.message_reads import MessageReads
from orchestrator.serving.gateway.ops.tracing import trace_of
from orchestrator.serving.gateway.options import MAX_OPTION, Address, Limits
from orchestrator.serving.gateway.policy.clients import client_at
from orchestrator.serving.protocol.kserve_grpc import (
    parse_message,
    parse_request,
    to_call,
    to_response,
)

SERVICE = pb.DESCRIPTOR.services_by_name["GRPCInferenceService"]
PROTOCOL = "kserve-grpc"
MAX_METADATA_REQUEST_BYTES = 65_536
"""Largest message other than an infer call, bytes. An infer call may have as many bytes beside
its body."""
STREAMS = 100
"""Calls at once on one connection."""
NO_COMPRESSION = 1
"""Bit set of the compression algorithms that are accepted: none. A compressed message is refused
unread."""


class Servicer(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Answers the methods that tritonclient calls. gRPC answers all others with UNIMPLEMENTED.

    It does not use the generated base class, because that class parses a message too early: before
    time and memory can be checked.
    """

    def __init__(self, service: DataPlane, limits: Limits) -> None:
        self._service = service
        self.limits = limits
        self._reads = MessageReads(limits)
        self._calls: Counter[str] = Counter()  # that have not ended, by the client's name
        self._handlers = {
            "ServerLive": self._handle(self._server_live),
            "ServerReady": self._handle(self._server_ready),
            "ServerMetadata": self._handle(self._server_metadata),
            "ModelReady": self._metadata_handler("ready", pb.ModelReadyRequest, self._model_ready),
            "ModelMetadata": self._metadata_handler(
                "metadata", pb.ModelMetadataRequest, service.metadata_of
            ),
            "ModelConfig": self._metadata_handler(
                "config", pb.ModelConfigRequest, service.config_of
            ),
            "ModelInfer": self._handle(self._infer),
        }

    def service(self, handler_call_details: Any) -> Any:
        """Return the handler of a method, or None if there is none."""
        path, _, method = handler_call_details.method.rpartition("/")
        return self._handlers.get(method) if path == f"/{SERVICE.full_name}" else None

    def _metadata_handler(
        self, kind: str, message_class: Any, answer: Callable[[str, str], Awaitable[Any]]
    ) -> Any:
        """Return the handler of a request for information about a model."""

        async def respond(context: Any) -> Any:
            async with self._admit(kind, context) as call:
                with self._service.admission.receive(call):
                    message = await self._reads.read(context)
                if len(message) > MAX_METADATA_REQUEST_BYTES:
                    raise BodyTooLarge(
                        f"message: wanted up to {MAX_METADATA_REQUEST_BYTES} bytes, got more"
                    )
                request = parse_message(message_class, message)
                return await answer(request.name, request.version)

        return self._handle(respond)

    def _admit(
        self, kind: str, context: Any, headers: Headers | None = None
    ) -> AbstractAsyncContextManager[Call]:
        headers = _headers_of(context) if headers is None else headers
        return self._service.admit(PROTOCOL, kind, address_of(context.peer()), headers)

    async def _note_unread(self, context: Any) -> None:
        """Count a call that gRPC itself has refused, because its message was compressed.

        gRPC answers the caller with UNIMPLEMENTED. It still calls the handler, but without the
        caller's address.
        """
        with suppress(PlateError):
            async with self._admit("other", context):
                raise UnsupportedMedia("grpc-encoding: wanted none, got a compressed message")

    def _handle(self, answer: Callable[[Any], Awaitable[Any]]) -> Any:
        """Return the handler of a method, as a stream, so that our code awaits the message."""

        async def handle(_messages: Any, context: Any) -> bytes:
            if not context.peer():
                await self._note_unread(context)
                raise asyncio.CancelledError  # a message to an ended call is a traceback in the log
            try:
                self._count(context)
                response = await answer(context)
            except Exception as error:  # the log already has our own faults
                await _abort(context, outcome_of(error))
                raise
            message: bytes = response.SerializeToString()
            return message

        return grpc.stream_unary_rpc_method_handler(handle)

    def _count(self, context: Any) -> None:
        """Count a call of an address until it has ended.

        A caller decides when it takes an answer, and may never do so. Then only the end of its
        connection ends the call. So calls of one address must not use up those of the port.

        Raises:
            QuotaExceeded: The address has too many calls.
        """
        address, proxies = address_of(context.peer()), self._service.connections.proxies
        if proxies is not None and proxies.trusts(address):  # many callers share it
            return
        name, max_calls = client_at(address, self.limits).name, self.limits.client_connections
        if self._calls[name] >= max_calls:
            raise QuotaExceeded(
                f"calls at once from one address: wanted at most {max_calls}, got one more",
                RETRY_AFTER_S,
            )
        self._calls[name] += 1
        context.add_done_callback(lambda _: self._discount(name))

    def _discount(self, name: str) -> None:
        self._calls[name] -= 1
        if not self._calls[name]:  # the table must not grow
            del self._calls[name]

    def leave(self) -> None:
        """Stop waiting for messages soon, because the process is to end."""
        self._reads.leave()

    async def _infer(self, context: Any) -> Any:
        headers = _headers_of(context)
        admission = self._service.admission
        async with self._admit("infer", context, headers) as call:
            with admission.receive(call):
                message = await self._reads.read(context)
            admission.slots.reserve(call, len(message))  # known only now: HTTP/2 announces no size
            request = to_call(parse_request(message), trace_of(dict(headers)))
            return to_response(await self._service.infer(call, request))

    async def _server_live(self, _context: Any) -> Any:
        return pb.ServerLiveResponse(live=await self._service.is_live())

    async def _server_ready(self, _context: Any) -> Any:
        return pb.ServerReadyResponse(ready=await self._service.is_ready())

    async def _server_metadata(self, _context: Any) -> Any:
        about = self._service.server_metadata()
        return pb.ServerMetadataResponse(
            name=about.name, version=about.version, extensions=about.extensions
        )

    async def _model_ready(self, model: str, version: str) -> Any:
        return pb.ModelReadyResponse(ready=await self._service.is_model_ready(model, version))


def _headers_of(context: Any) -> list[tuple[str, str]]:
    metadata = context.invocation_metadata()
    return [(name, value) for name, value in metadata if isinstance(value, str)]


def address_of(peer: str) -> str:
    """Return the IP address of a gRPC peer, `ipv4:ADDRESS:PORT` or `ipv6:[ADDRESS]:PORT`."""
    _, _, address = unquote(peer).partition(":")
    return address.rpartition(":")[0].strip("[]")


async def _abort(context: Any, outcome: Outcome) -> None:
    """End a call with an error. A caller that has closed the connection gets nothing."""
    retry_after_s = outcome.retry_after_s
    metadata = () if retry_after_s is None else (("retry-after", str(math.ceil(retry_after_s))),)
    await context.abort(grpc.StatusCode[outcome.code], outcome.message, metadata)


def make_server(
    servicer: Servicer,
    address: Address,
    credentials: grpc.ServerCredentials | None,
    *,
    shares_port: bool = False,
) -> grpc.aio.Server:
    """Return a gRPC server that listens at an address once it is started.

    Args:
        servicer: Answers the calls. Its limit `connections` also applies here. The next connection
            is closed, and the next call at once is refused unread. The service admits calls, and
            also delays refusals.
        address: The address. A server on IPv4's loopback also listens on IPv6's loopback, if
            possible.
        credentials: TLS credentials; no TLS if None.
        shares_port: Other processes of this user may listen at the same port.

    Raises:
        RuntimeError: The server cannot listen at the address.
    """
    server = grpc.aio.server(
        handlers=(servicer,),
        options=[*_options(servicer.limits), ("grpc.so_reuseport", int(shares_port))],
        maximum_concurrent_rpcs=servicer.limits.connections,
    )
    _listen(server, address, credentials)
    if twin := address.twin:
        with suppress(RuntimeError):  # a machine without IPv6, or another service
            _listen(server, twin, credentials)
    return server


def _listen(
    server: grpc.aio.Server, address: Address, credentials: grpc.ServerCredentials | None
) -> None:
    if credentials is None:
        server.add_insecure_port(str(address))
    else:
        server.add_secure_port(str(address), credentials)


def _options(limits: Limits) -> list[tuple[str, int]]:
    header_bytes = limits.header_kb * 1024
    options = [
        ("grpc.max_receive_message_length", limits.body_bytes + MAX_METADATA_REQUEST_BYTES),
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.max_concurrent_streams", STREAMS),
        ("grpc.max_metadata_size", header_bytes),
        ("grpc.absolute_max_metadata_size", header_bytes),
        ("grpc.compression_enabled_algorithms_bitset", NO_COMPRESSION),
        ("grpc.server_handshake_timeout_ms", round(limits.header_s * 1000)),
        ("grpc.max_connection_idle_ms", round(limits.idle_s * 1000)),
    ]
    return [(name, min(value, MAX_OPTION)) for name, value in options]
