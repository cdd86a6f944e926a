"""Calls with little work for the client, because it shares the cores with the measured server.

Each request is built once. Only the status and the number of plates of an answer are read.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import grpc
import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException, shared_memory

from orchestrator.client.error_mapping import NO_ANSWER
from orchestrator.contract import ENCODED, MODEL, OUTPUTS, PICTURE
from orchestrator.errors import ModelError, Overloaded, PlateError, ServerError
from orchestrator.supervisor.options import ADMIN_METADATA
from orchestrator.system.loopback import PAST_PROXY
from workshop.benchmarks.load import Caller
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.plan import GRPC_SHM, HTTP_ENCODED, OVER_GRPC, Address

TIMEOUT_S = 60.0
HEADER = "Inference-Header-Content-Length"
METHOD = "/inference.GRPCInferenceService/ModelInfer"
GRPC_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    PAST_PROXY,
    ("grpc.use_local_subchannel_pool", 1),  # a separate connection for each caller
)
REGION = f"plates_bench_{os.getpid()}_"
"""The prefix of the names of our shared memory regions."""

Asking = Callable[[], int]
"""Makes one call and returns the number of plates."""

COUNTER_BYTES = 3
"""The number of bytes of one pixel, which count the calls when `is_new`."""

_numbers = itertools.count()


@dataclass(frozen=True)
class Question:
    """The content of every call.

    Attributes:
        outputs: The outputs to ask for; the first has one row per plate.
        is_new: Over HTTP, each call writes a new count into the last bytes of the picture.
    """

    picture: Picture
    model: str = MODEL
    outputs: tuple[str, ...] = tuple(OUTPUTS)
    is_new: bool = False


def connect(transport: str, question: Question, address: Address, admin_key: str = "") -> Caller:
    """Open one caller's connection; gives a function that makes one call and counts the plates.

    Args:
        transport: One of the transports of a plan.
        question: The content of every call.
        address: The addresses of the server.
        admin_key: The administrators' key, which the server needs for shared memory regions.

    Raises:
        ServerError: The server cannot use a shared memory region.
    """
    if transport in OVER_GRPC:
        key = admin_key if transport == GRPC_SHM else None
        return _connect_grpc(question, address, key)
    return _connect_http(transport, question, address)


@contextmanager
def _connect_http(transport: str, question: Question, address: Address) -> Iterator[Asking]:
    client = tritonclient.http.InferenceServerClient
    body, header_length = client.generate_request_body(
        [http_input(transport, question.picture)],
        outputs=[tritonclient.http.InferRequestedOutput(name) for name in question.outputs],
    )
    body = bytearray(body)
    headers = {HEADER: str(header_length), "Content-Type": "application/octet-stream"}
    path = f"/v2/models/{question.model}/infer"

    def call() -> int:
        if question.is_new:
            body[-COUNTER_BYTES:] = next(_numbers).to_bytes(COUNTER_BYTES, "little")
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()  # the next call reopens it
            raise ServerError(f"{connection.host}: wanted an answer, got {error!r}") from error
        if answer.status != 200:
            raise _http_error(answer.status, content)
        head = json.loads(content[: int(answer.getheader(HEADER) or len(content))])
        return int(head["outputs"][0]["shape"][0])

    with closing(http.client.HTTPConnection(address.http, timeout=TIMEOUT_S)) as connection:
        yield call


def http_input(transport: str, picture: Picture) -> Any:
    """Return a picture as an input of tritonclient, as a file or as raw pixels."""
    if transport == HTTP_ENCODED:
        encoded = np.array([picture.encoded], dtype=np.object_)
        return tritonclient.http.InferInput(ENCODED, [1], "BYTES").set_data_from_numpy(encoded)
    tensor = tritonclient.http.InferInput(PICTURE, list(picture.bgr.shape), "UINT8")
    return tensor.set_data_from_numpy(picture.bgr)


def _http_error(status: int, content: bytes) -> PlateError:
    try:
        message = str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        message = content[:200].decode(errors="replace")
    return Overloaded(message) if status == 503 else ModelError(f"HTTP {status}: {message}")


@contextmanager
def _connect_grpc(question: Question, address: Address, key: str | None) -> Iterator[Asking]:
    """Connect a caller; use shared memory if there is an administrators' key, even an empty one."""
    with ExitStack() as stack:
        channel = stack.enter_context(grpc.insecure_channel(address.grpc, GRPC_OPTIONS))
        picture = question.picture
        region = "" if key is None else stack.enter_context(_share(picture, address, key))
        request = _grpc_request(question, region)
        infer = channel.unary_unary(METHOD)  # bytes in, bytes out

        def call() -> int:
            try:
                answer = infer(request, timeout=TIMEOUT_S)
            except grpc.RpcError as error:
                raise _grpc_error(error) from error
            return int(service_pb2.ModelInferResponse.FromString(answer).outputs[0].shape[0])

        yield call


def _grpc_request(question: Question, region: str) -> bytes:
    """Return a ModelInferRequest with its picture in the region if named, else in the message."""
    picture = question.picture
    request = service_pb2.ModelInferRequest(model_name=question.model)
    tensor = request.inputs.add(name=PICTURE, datatype="UINT8", shape=picture.bgr.shape)
    if region:
        tensor.parameters["shared_memory_region"].string_param = region
        tensor.parameters["shared_memory_byte_size"].int64_param = picture.bgr.nbytes
    else:
        request.raw_input_contents.append(picture.bgr.tobytes())
    for name in question.outputs:
        request.outputs.add(name=name)
    return bytes(request.SerializeToString())


def _grpc_error(error: Any) -> PlateError:
    message = str(error.details())
    if error.code() == grpc.StatusCode.UNAVAILABLE:
        unheard = any(word in message.lower() for word in NO_ANSWER)
        return ServerError(message) if unheard else Overloaded(message)
    return ModelError(f"gRPC {error.code().name}: {message}")


@contextmanager
def _share(picture: Picture, address: Address, key: str) -> Iterator[str]:
    """Put a picture into a shared memory region and register it with the server; give its name."""
    name, size = f"{REGION}{next(_numbers)}", picture.bgr.nbytes
    headers = {ADMIN_METADATA: key}
    with ExitStack() as stack:
        try:
            region = shared_memory.create_shared_memory_region(name, name, size, create_only=True)
            stack.callback(shared_memory.destroy_shared_memory_region, region)
            shared_memory.set_shared_memory_region(region, [picture.bgr])
            client = tritonclient.grpc.InferenceServerClient(
                address.grpc, channel_args=[PAST_PROXY]
            )
            stack.callback(client.close)
            client.register_system_shared_memory(name, name, size, headers=headers)
        except (InferenceServerException, shared_memory.SharedMemoryException, OSError) as error:
            raise ServerError(f"shared memory: wanted {size} bytes there, got {error}") from error
        stack.callback(_unregister, client, name, headers)
        yield name


def _unregister(client: Any, name: str, headers: Mapping[str, str]) -> None:
    with suppress(InferenceServerException):  # a dead server has forgotten it already
        client.unregister_system_shared_memory(name, headers=headers)
