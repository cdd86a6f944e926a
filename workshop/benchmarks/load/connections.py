"""Sends built requests over HTTP and gRPC, and reads their replies: plates, texts, or one hash."""

from __future__ import annotations

import hashlib
import http.client
import json
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import grpc
import tritonclient.grpc
import tritonclient.http
from google.protobuf.message import DecodeError
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

from orchestrator.client.error_mapping import NO_ANSWER
from orchestrator.host.loopback import PAST_PROXY
from workshop.benchmarks.load.requests import HEADER, GrpcRequest, HttpRequest, Request

ANSWERED, LOST, DROPPED = "answered", "lost", "dropped"
TIMEOUT_S = 60.0
METHOD = "/inference.GRPCInferenceService/ModelInfer"
GRPC_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    PAST_PROXY,
    ("grpc.use_local_subchannel_pool", 1),  # a separate connection for each caller
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 200),
)
"""gRPC options: no retries, and a short backoff, so that a lost connection is soon reopened. The
least backoff is also the time limit of a connection attempt, so it stays at gRPC's 20 s."""
BROKEN = (*NO_ANSWER, "goaway", "reset", "broken pipe")
"""Words in gRPC's own errors for refused and broken connections; no server sends them."""
MAX_CHARACTERS = 500  # characters of an error message


class Reply(NamedTuple):
    """The reply to a request.

    Attributes:
        status: `ANSWERED`, `LOST`, `DROPPED`, or the HTTP status or gRPC code of an error.
        content: The body of the response; a serialised `ModelInferResponse` over gRPC.
        json_bytes: The size of the JSON in a KServe response over HTTP; otherwise None.
    """

    status: str
    content: bytes = b""
    json_bytes: int | None = None
    error: str = ""


class Connection:
    """The connections of one caller: HTTP and gRPC, each opened by its first request.

    A lost connection is opened again by the next request.
    """

    def __init__(self, http_address: str, grpc_address: str = "", timeout_s: float = TIMEOUT_S):
        self._http = http.client.HTTPConnection(http_address, timeout=timeout_s)
        self._grpc_address, self._timeout_s = grpc_address, timeout_s

    def send(self, request: Request, hang_up_s: float = 0.0) -> Reply:
        """Send a request once and wait for its reply; hang up after `hang_up_s`, unless 0."""
        if isinstance(request, GrpcRequest):
            return self._send_grpc(request, hang_up_s)
        try:
            return self._send_http(request, hang_up_s)
        except (OSError, http.client.HTTPException) as error:
            self._http.close()
            return Reply(LOST, error=repr(error)[:MAX_CHARACTERS])

    def close(self) -> None:
        self._http.close()
        if "_channel" in vars(self):
            self._channel.close()

    @cached_property
    def _channel(self) -> Any:
        return grpc.insecure_channel(self._grpc_address, GRPC_OPTIONS)

    @cached_property
    def _infer(self) -> Any:
        return self._channel.unary_unary(METHOD)  # bytes in, bytes out

    def _send_http(self, request: HttpRequest, hang_up_s: float) -> Reply:
        self._http.request("POST", request.path, request.body, dict(request.headers))
        if hang_up_s:
            time.sleep(hang_up_s)
            self._http.close()
            return Reply(DROPPED)
        response = self._http.getresponse()
        content = response.read()
        if response.status != http.client.OK:
            return Reply(
                str(response.status), error=content[:MAX_CHARACTERS].decode(errors="replace")
            )
        size = response.getheader(HEADER)
        return Reply(ANSWERED, content, int(size) if size else None)

    def _send_grpc(self, request: GrpcRequest, hang_up_s: float) -> Reply:
        if hang_up_s:
            call = self._infer.future(request.body, timeout=self._timeout_s)
            time.sleep(hang_up_s)
            call.cancel()
            return Reply(DROPPED)
        try:
            return Reply(ANSWERED, self._infer(request.body, timeout=self._timeout_s))
        except grpc.RpcError as error:
            return explain_error(error.code().name, str(error.details()))


def explain_error(code: str, details: str) -> Reply:
    """Distinguish a lost connection from an error of the server: gRPC has one code for both."""
    is_broken = code == "UNAVAILABLE" and any(word in details.lower() for word in BROKEN)
    is_late = code == "DEADLINE_EXCEEDED" and details == "Deadline Exceeded"  # the caller's own
    return Reply(LOST if is_broken or is_late else code, error=details[:MAX_CHARACTERS])


UNREADABLE = (
    ValueError, LookupError, TypeError, AttributeError, InferenceServerException, DecodeError,
)  # fmt: skip
"""The exceptions that mean that a response cannot be parsed."""
Tensors = Iterable[tuple[str, str, Sequence[int], bytes]]
"""Name, datatype, shape and content of each tensor."""
OF_THE_CALL = {"seconds", "time", "request_id"}
"""Members of a REST answer that differ from call to call."""


def is_rest(request: Request) -> bool:
    """Tell whether a request is one of the REST API, not of KServe v2."""
    return not isinstance(request, GrpcRequest) and not request.path.startswith("/v2/")


def count_rows(request: Request, reply: Reply) -> int:
    """Return the number of rows in the first output of a KServe response: one for each plate."""
    if isinstance(request, GrpcRequest):
        return int(service_pb2.ModelInferResponse.FromString(reply.content).outputs[0].shape[0])
    return int(json.loads(reply.content[: reply.json_bytes])["outputs"][0]["shape"][0])


def read_texts(request: Request, reply: Reply) -> tuple[str, ...]:
    """Return the texts of all plates, in order; `problem STATUS` for an unusable picture."""
    if is_rest(request):
        return _read_rest(reply.content)
    result: Any
    if isinstance(request, GrpcRequest):
        response = service_pb2.ModelInferResponse.FromString(reply.content)
        result = tritonclient.grpc.InferResult(response)
    else:
        protocol = tritonclient.http.InferenceServerClient
        result = protocol.parse_response_body(reply.content, header_length=reply.json_bytes)
    texts = result.as_numpy("texts").ravel().tolist()
    return tuple(text.decode() if isinstance(text, bytes) else text for text in texts)


def _read_rest(content: bytes) -> tuple[str, ...]:
    texts: list[str] = []
    for picture in json.loads(content)["pictures"]:
        if "problem" in picture:
            texts.append(f"problem {picture['problem']['status']}")
        else:
            plates = picture["plates"] if "plates" in picture else [picture["plate"]]
            texts += [plate["text"] for plate in plates]
    return tuple(texts)


def digest(request: Request, reply: Reply) -> str:
    """Return one hash of an answer. It is the same for a KServe response over HTTP and gRPC.

    The order of JSON members and of tensors does not matter, nor does what a REST answer says about
    its own call.
    """
    if is_rest(request):
        answer = json.loads(reply.content, object_hook=_drop_call)
        return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()
    is_grpc = isinstance(request, GrpcRequest)
    hashed = hashlib.sha256()
    for name, kind, shape, content in sorted(_read_grpc(reply) if is_grpc else _read_http(reply)):
        hashed.update(f"{name} {kind} {[*shape]} {len(content)}\n".encode())
        hashed.update(content)
    return hashed.hexdigest()


def _drop_call(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in OF_THE_CALL}


def _read_http(reply: Reply) -> Tensors:
    at = reply.json_bytes or len(reply.content)
    for output in json.loads(reply.content[:at])["outputs"]:
        size = int(output["parameters"]["binary_data_size"])
        content = reply.content[at : at + size]
        yield output["name"], output["datatype"], output["shape"], content
        at += size


def _read_grpc(reply: Reply) -> Tensors:
    response = service_pb2.ModelInferResponse.FromString(reply.content)
    for output, content in zip(response.outputs, response.raw_output_contents, strict=True):
        yield output.name, output.datatype, [*output.shape], content
