"""Sends one call at a time over HTTP, gRPC or REST, and reduces each answer to one hash."""

from __future__ import annotations

import hashlib
import http.client
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import grpc
import tritonclient.grpc
import tritonclient.http
from tritonclient.grpc import service_pb2

from orchestrator.client.error_mapping import NO_ANSWER
from orchestrator.contract import ENCODED, MODEL, OUTPUTS
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.plan import HTTP_ENCODED
from workshop.benchmarks.wire import GRPC_OPTIONS, HEADER, METHOD, http_input

HTTP, GRPC, REST, READ = "http", "grpc", "rest", "rest read"
TENSORS = (HTTP, GRPC)
"""The protocols whose answers to a picture are equal, bit by bit."""
ANSWERED, LOST = "answered", "lost"
TIMEOUT_S = 20.0
"""The timeout for an answer; a call without an answer by then is lost."""
RECONNECT = (
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 200),
)
"""gRPC options: no retries, and a short backoff, so that a lost connection is soon reopened."""
LONGEST = 200  # characters of an error message
INFER = f"/v2/models/{MODEL}/infer"


@dataclass(frozen=True)
class Reply:
    """The reply to a call.

    Attributes:
        status: `ANSWERED`, `LOST`, or the HTTP status or gRPC code of a refusal.
        digest: The hash of the answer; empty without an answer.
        told: The reason why there is no answer.
    """

    status: str
    digest: str = ""
    told: str = ""


class Caller(Protocol):
    """A caller with its own connection."""

    def send(self, number: int) -> Reply:
        """Send the picture with this number once and wait for the reply."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True)
class Request:
    """An HTTP request: path, body and headers."""

    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


def over_kserve(picture: Picture, transport: str = HTTP_ENCODED) -> Request:
    """Return a KServe call over HTTP for every output, as tritonclient sends it."""
    outputs = [tritonclient.http.InferRequestedOutput(name) for name in OUTPUTS]
    body, head = tritonclient.http.InferenceServerClient.generate_request_body(
        [http_input(transport, picture)], outputs=outputs
    )
    headers = {HEADER: str(head), "Content-Type": "application/octet-stream"}
    return Request(INFER, bytes(body), headers)


def over_rest(picture: Picture, what: str = "recognize") -> Request:
    """Return a call of the REST API."""
    return Request(f"/v1/{what}", picture.encoded, {"Content-Type": "image/jpeg"})


def over_grpc(picture: Picture) -> bytes:
    """Return a ModelInferRequest for every output."""
    request = service_pb2.ModelInferRequest(model_name=MODEL)
    request.inputs.add(name=ENCODED, datatype="BYTES", shape=[1])
    size = len(picture.encoded).to_bytes(4, "little")
    request.raw_input_contents.append(size + picture.encoded)
    for name in OUTPUTS:
        request.outputs.add(name=name)
    return bytes(request.SerializeToString())


class HttpCaller:
    """Sends calls over one HTTP connection, which is reopened after a loss."""

    def __init__(
        self,
        address: str,
        requests: Sequence[Request],
        digest: Callable[[bytes, int], str],
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._requests, self._digest = requests, digest
        self._connection = http.client.HTTPConnection(address, timeout=timeout_s)

    def send(self, number: int) -> Reply:
        request = self._requests[number]
        try:
            self._connection.request("POST", request.path, request.body, dict(request.headers))
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()  # the next call opens it again
            return Reply(LOST, told=repr(error)[:LONGEST])
        if answer.status != http.client.OK:
            return Reply(str(answer.status), told=content[:LONGEST].decode(errors="replace"))
        head = int(answer.getheader(HEADER) or len(content))
        try:
            return Reply(ANSWERED, self._digest(content, head))
        except (ValueError, LookupError, TypeError) as error:  # equals no right answer
            return Reply(ANSWERED, told=f"an answer without its form: {error}")

    def close(self) -> None:
        self._connection.close()


class GrpcCaller:
    """Sends calls over one gRPC connection."""

    def __init__(
        self, address: str, requests: Sequence[bytes], timeout_s: float = TIMEOUT_S
    ) -> None:
        self._requests, self._timeout_s = requests, timeout_s
        self._channel = grpc.insecure_channel(address, (*GRPC_OPTIONS, *RECONNECT))
        self._infer = self._channel.unary_unary(METHOD)  # bytes in, bytes out

    def send(self, number: int) -> Reply:
        try:
            answer = self._infer(self._requests[number], timeout=self._timeout_s)
        except grpc.RpcError as error:
            return name_refusal(error.code().name, str(error.details()))
        return Reply(ANSWERED, digest_response(service_pb2.ModelInferResponse.FromString(answer)))

    def close(self) -> None:
        self._channel.close()


BROKEN = (*NO_ANSWER, "goaway", "reset", "broken pipe")
"""Words in gRPC's own errors for refused and broken connections; no server sends them."""


def name_refusal(code: str, details: str) -> Reply:
    """Distinguish a broken connection from a refusal by the server: gRPC has one code for both."""
    is_broken = code == "UNAVAILABLE" and any(word in details.lower() for word in BROKEN)
    is_late = code == "DEADLINE_EXCEEDED" and details == "Deadline Exceeded"  # the caller's own
    return Reply(LOST if is_broken or is_late else code, told=details[:LONGEST])


def digest_tensors(tensors: Iterable[tuple[str, str, Sequence[int], bytes]]) -> str:
    """Return one hash of tensors in any order: of names, types, shapes and bytes."""
    found = hashlib.sha256()
    for name, kind, shape, content in sorted(tensors, key=lambda tensor: tensor[0]):
        found.update(f"{name} {kind} {[*shape]} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def digest_kserve(content: bytes, head: int) -> str:
    """Return the hash of a KServe answer over HTTP whose outputs are all binary."""
    tensors, at = [], head
    for output in json.loads(content[:head])["outputs"]:
        size = int(output["parameters"]["binary_data_size"])
        tensors.append(
            (output["name"], output["datatype"], output["shape"], content[at : at + size])
        )
        at += size
    return digest_tensors(tensors)


def digest_response(response: Any) -> str:
    """Return the hash of a ModelInferResponse; it equals that of the same answer over HTTP."""
    return digest_tensors(
        (output.name, output.datatype, output.shape, content)
        for output, content in zip(response.outputs, response.raw_output_contents, strict=True)
    )


def digest_json(content: bytes, _head: int) -> str:
    """Return the hash of a REST answer without its times; the order of members does not matter."""
    answer = json.loads(content, object_hook=_without_time)
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()


def _without_time(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name != "seconds"}
