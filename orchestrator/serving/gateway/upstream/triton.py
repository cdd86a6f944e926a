"""The Triton behind the gateway, on this machine. One gRPC channel carries all calls."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from orchestrator.contract import rejection_kind
from orchestrator.errors import Cancelled, ModelError, PlateError, ServerError
from orchestrator.host.loopback import PAST_PROXY, open_url
from orchestrator.serving.gateway.errors import FAILED, DeadlineExceeded, NotFound, ServiceFull
from orchestrator.serving.gateway.options import GatewayOptions
from orchestrator.serving.gateway.upstream.retry import RetryPolicy
from orchestrator.serving.gateway.upstream.start_throttle import StartThrottle
from orchestrator.serving.gateway.upstream.timed_cache import TimedCache
from orchestrator.serving.protocol.gateway_events import TritonMoved, WorkerDied
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, Tensor
from orchestrator.serving.protocol.kserve_grpc import RAW_INPUT, to_varint

CHANNEL = [
    ("grpc.max_send_message_length", -1),  # the gateway's own ports have limits
    ("grpc.max_receive_message_length", -1),
    # A restarted Triton is found within a second, not after gRPC's two minutes.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    PAST_PROXY,
]
INFER = "/inference.GRPCInferenceService/ModelInfer"
PARAMETERS = {bool: "bool_param", int: "int64_param", float: "double_param", str: "string_param"}
"""Field of a parameter's value, by its type."""
FULL = "maximum queue size"
DEAD = ("is not healthy", "server not ready", "no available versions", "shared memory pool")
"""Triton's messages when it lost a worker, starts, stops, or has no memory for tensors."""
AWAY = "the service is away for a moment; try again"
logger = logging.getLogger(__name__)

METADATA_TIMEOUT_S = 5.0
METADATA_TTL_S, READY_TTL_S = 10.0, 0.5
"""Lifetimes in the cache, seconds: of information about a model, and of its readiness."""
MAX_CACHED = 200


class Triton:
    """The Triton behind the gateway. It must be created inside the event loop that uses it."""

    def __init__(self, options: GatewayOptions) -> None:
        self._options = options
        self._headers = tuple(options.triton_headers.items())
        self._connect(TritonMoved(options.triton_http, options.triton_grpc, options.triton_metrics))
        self.throttle = StartThrottle(options.limits.calls)
        self.retries = RetryPolicy(self._send, options.limits.away_s, options.limits.call_s)

    def _connect(self, addresses: TritonMoved) -> None:
        self._addresses = addresses
        self._channel = grpc.aio.insecure_channel(addresses.triton_grpc, options=CHANNEL)
        self._stub: Any = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)
        self._infer: Any = self._channel.unary_unary(  # its requests are bytes already
            INFER, response_deserializer=pb.ModelInferResponse.FromString
        )
        self._answers = TimedCache(MAX_CACHED)

    async def move(self, addresses: TritonMoved) -> None:
        """Send the next calls to another Triton. Return when the old one answered its calls."""
        before = self._channel
        self._connect(addresses)
        self.throttle.end_all()
        await before.close(self._options.limits.call_s)

    def note_death(self, death: WorkerDied) -> None:
        """Note that a worker died, and that its model gets a new one."""
        self.retries.blame(death.suspects, death.reason)
        self.throttle.begin(death.model, is_last=death.is_last)

    async def _send(self, call: InferenceRequest, id: str, timeout_s: float) -> InferenceResponse:
        metadata = (*call.trace.items(), *self._headers)
        deadline = time.monotonic() + timeout_s
        slots = await self.throttle.acquire() if self.throttle.starting else None
        try:
            response = await self._infer(
                to_message(call, id), timeout=deadline - time.monotonic(), metadata=metadata
            )
        except grpc.aio.AioRpcError as error:
            raise fault_of(error, timeout_s) from error
        finally:
            if slots is not None:
                slots.release()
        return to_response(response, call)

    async def ping(self) -> tuple[str, ...]:
        """Ask Triton whether it is live, and return an empty tuple.

        Raises:
            ServerError: Triton is not available.
        """
        await self._request("ServerLive", pb.ServerLiveRequest())
        return ()

    async def is_model_ready(self, model: str, version: str) -> bool:
        """Tell whether a model is ready. The answer may be half a second old."""
        request = pb.ModelReadyRequest(name=model, version=version)
        try:
            response = await self._request_cached("ModelReady", request, READY_TTL_S)
        except PlateError:
            return False
        return bool(response.ready)

    async def metadata_of(self, model: str, version: str) -> Any:
        """Return a model's inputs and outputs, as Triton sends them over gRPC."""
        request = pb.ModelMetadataRequest(name=model, version=version)
        return await self._request_cached("ModelMetadata", request, METADATA_TTL_S)

    async def config_of(self, model: str, version: str) -> Any:
        """Return a model's configuration, as Triton sends it over gRPC."""
        request = pb.ModelConfigRequest(name=model, version=version)
        return await self._request_cached("ModelConfig", request, METADATA_TTL_S)

    async def page(self, path: str) -> bytes:
        """Return Triton's JSON at a checked path, over HTTP."""
        url = f"http://{self._addresses.triton_http}{path}"
        request = Request(url, headers=dict(self._headers))
        content: bytes = await self._answers.get(
            path, lambda: asyncio.to_thread(_fetch, request), METADATA_TTL_S
        )
        return content

    async def metrics(self) -> bytes:
        """Return Triton's metrics in the Prometheus format.

        Raises:
            ServerError: Triton is not available.
        """
        return await asyncio.to_thread(_fetch, self._addresses.triton_metrics)

    async def close(self) -> None:
        await self._channel.close()

    async def _request_cached(self, method: str, request: Any, ttl_s: float) -> Any:
        """Return a recent answer from the cache, or ask Triton about a model."""
        key = (method, request.name, request.version)
        return await self._answers.get(key, lambda: self._request(method, request), ttl_s)

    async def _request(self, method: str, request: Any) -> Any:
        try:
            send = getattr(self._stub, method)
            return await send(request, timeout=METADATA_TIMEOUT_S, metadata=self._headers)
        except grpc.aio.AioRpcError as error:
            raise fault_of(error, METADATA_TIMEOUT_S) from error


def to_message(call: InferenceRequest, id: str) -> bytes:
    """Return a call as the bytes of Triton's gRPC request, in which the tensors are copied once.

    Args:
        call: The call.
        id: Request id for Triton.

    Source: Protocol Buffers "Encoding": fields of a message may follow each other in any order.
    """
    request = pb.ModelInferRequest(
        model_name=call.model,
        model_version=call.version,
        id=id,
        inputs=[
            pb.ModelInferRequest.InferInputTensor(
                name=tensor.name, datatype=tensor.datatype, shape=tensor.shape
            )
            for tensor in call.inputs
        ],
        outputs=[
            pb.ModelInferRequest.InferRequestedOutputTensor(name=name) for name in call.outputs
        ],
    )
    for name, value in call.parameters.items():
        setattr(request.parameters[name], PARAMETERS[type(value)], value)
    parts = [request.SerializeToString()]
    for tensor in call.inputs:
        tensor_parts = tensor.parts
        parts += (RAW_INPUT, to_varint(sum(map(len, tensor_parts))), *tensor_parts)
    return b"".join(parts)


def to_response(response: Any, call: InferenceRequest) -> InferenceResponse:
    """Return Triton's gRPC response to a call as ours.

    Raises:
        ModelError: An output came without its bytes.
        ServerError: It answers another call. That was seen when Triton gave up a worker that got no
            core for a second: the worker went on, in memory that others had by then.
    """
    raw = response.raw_output_contents
    names = {output.name for output in response.outputs}
    if call.outputs and names != set(call.outputs):
        logger.error("Triton's answer to %s has other outputs: %s", call.model, sorted(names))
        raise ServerError(AWAY)
    if len(raw) != len(response.outputs):
        raise ModelError(f"answer: wanted {len(response.outputs)} outputs, got {len(raw)}")
    outputs = tuple(
        Tensor(output.name, output.datatype, tuple(output.shape), data)
        for output, data in zip(response.outputs, raw, strict=True)
    )
    name, version = response.model_name, response.model_version
    return InferenceResponse(name, version, call.id, outputs, call)


def fault_of(error: grpc.aio.AioRpcError, timeout_s: float) -> PlateError:
    """Return Triton's gRPC error as one of our errors, without Triton's internal messages."""
    message = error.details() or ""
    if any(text in message for text in DEAD):
        return ServerError(AWAY)
    match error.code():
        case grpc.StatusCode.INVALID_ARGUMENT:
            return rejection_kind(message)(message)
        case grpc.StatusCode.NOT_FOUND:
            return NotFound(message)
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return DeadlineExceeded.after(timeout_s)
        case grpc.StatusCode.CANCELLED:
            return Cancelled("the caller has cancelled the call")
        case grpc.StatusCode.UNAVAILABLE | grpc.StatusCode.RESOURCE_EXHAUSTED:
            return ServiceFull(message, retry_after_s=1.0) if FULL in message else ServerError(AWAY)
    logger.error("Triton failed: %s %s", error.code(), message)
    return ModelError(FAILED)  # Triton's own message may describe this machine


def page_fault_of(error: HTTPError) -> PlateError:
    """Return Triton's HTTP error as one of our errors, the same as `fault_of` for gRPC."""
    message = b""
    with suppress(OSError, HTTPException):
        message = error.read()
    if any(text in message.decode(errors="replace") for text in DEAD):
        return ServerError(AWAY)
    return NotFound(f"no such model or version ({error.code})")


def _fetch(request: Request | str) -> bytes:
    try:
        with open_url(request, timeout_s=METADATA_TIMEOUT_S) as answer:
            return bytes(answer.read())
    except HTTPError as error:
        raise page_fault_of(error) from error
    except (OSError, HTTPException) as error:
        raise ServerError(AWAY) from error
