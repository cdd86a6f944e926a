"""The connections of one caller to a gateway, and the parsing of its answers."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import tritonclient.grpc
import tritonclient.http
from google.protobuf.message import DecodeError
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

from workshop.benchmarks.soak.messages import JSON_SIZE, GrpcMessage, HttpMessage, Message
from workshop.benchmarks.wire import GRPC_OPTIONS, METHOD, TIMEOUT_S

OK = ("200", "OK")
DROPPED = "dropped"
NO_ANSWER = "no answer"
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, InferenceServerException)
"""The exceptions that mean that an answer cannot be parsed."""


@dataclass(frozen=True)
class Answer:
    """The answer to a message.

    Attributes:
        status: The HTTP status as a text, the name of the gRPC code, `dropped` or `no answer`.
        texts: The texts of all plates, in order; `problem STATUS` for an unusable picture.
        words: The error message when there is no answer.
    """

    status: str
    texts: tuple[str, ...] = ()
    words: str = ""


@dataclass(frozen=True)
class Ports:
    """The HTTP and gRPC ports of a gateway on this machine."""

    http: int
    grpc: int


Send = Callable[[Message, float], Answer]
"""Sends a message. If the second argument is not 0, hangs up after that number of seconds."""


@contextmanager
def connect(ports: Ports) -> Iterator[Send]:
    """Give one caller its connections for the length of a `with` block; first use opens each."""
    channel = grpc.insecure_channel(f"127.0.0.1:{ports.grpc}", GRPC_OPTIONS)
    connection = http.client.HTTPConnection("127.0.0.1", ports.http, timeout=TIMEOUT_S)
    with channel, closing(connection):
        infer = channel.unary_unary(METHOD)

        def send(message: Message, hangs_up_s: float = 0.0) -> Answer:
            if isinstance(message, GrpcMessage):
                return send_grpc(infer, message, hangs_up_s)
            try:
                return send_http(connection, message, hangs_up_s)
            except (OSError, http.client.HTTPException, *UNREADABLE) as error:
                connection.close()  # the next message opens it again
                return Answer(NO_ANSWER, words=repr(error))

        yield send


def send_http(
    connection: http.client.HTTPConnection, message: HttpMessage, hangs_up_s: float
) -> Answer:
    connection.request("POST", message.path, message.body, dict(message.headers))
    if hangs_up_s:
        time.sleep(hangs_up_s)
        connection.close()
        return Answer(DROPPED)
    reply = connection.getresponse()
    content = reply.read()
    if reply.status != 200:
        return Answer(str(reply.status), words=content.decode(errors="replace"))
    if not message.path.startswith("/v2/"):
        return Answer("200", read_rest(content))
    size = reply.headers.get(JSON_SIZE)
    return Answer("200", read_kserve(content, int(size) if size else None))


def send_grpc(infer: Any, message: GrpcMessage, hangs_up_s: float) -> Answer:
    call = infer.future(message.request, timeout=TIMEOUT_S)
    if hangs_up_s:
        time.sleep(hangs_up_s)
        call.cancel()
        return Answer(DROPPED)
    try:
        return Answer("OK", read_grpc(call.result()))
    except grpc.RpcError as error:
        return Answer(error.code().name, words=str(error.details()))
    except (DecodeError, *UNREADABLE) as error:
        return Answer(NO_ANSWER, words=repr(error))


def read_rest(content: bytes) -> tuple[str, ...]:
    """Return the texts in an answer of `/v1/recognize` or `/v1/read`."""
    found: list[str] = []
    for picture in json.loads(content)["pictures"]:
        if "problem" in picture:
            found.append(f"problem {picture['problem']['status']}")
        else:
            plates = picture["plates"] if "plates" in picture else [picture["plate"]]
            found += [plate["text"] for plate in plates]
    return tuple(found)


def read_kserve(content: bytes, json_size: int | None) -> tuple[str, ...]:
    """Return the texts in an answer of KServe v2 over HTTP.

    Args:
        content: JSON, followed by the bytes of the tensors.
        json_size: The size of the JSON in bytes; the whole content when None.
    """
    protocol = tritonclient.http.InferenceServerClient
    return _texts_in(protocol.parse_response_body(content, header_length=json_size))


def read_grpc(content: bytes) -> tuple[str, ...]:
    """Return the texts in a serialised `ModelInferResponse`."""
    response = service_pb2.ModelInferResponse.FromString(content)
    return _texts_in(tritonclient.grpc.InferResult(response))


def _texts_in(result: Any) -> tuple[str, ...]:
    texts = result.as_numpy("texts").ravel().tolist()
    return tuple(text.decode() if isinstance(text, bytes) else text for text in texts)
