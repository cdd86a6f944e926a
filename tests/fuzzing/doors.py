"""The entry points for untrusted bytes. Each must give an answer or a rejection.

Without sockets and without Triton: a table of answers stands behind the gateway's parser.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from starlette.applications import Starlette

from orchestrator.detection.letterbox import letterbox
from orchestrator.errors import PictureError, RequestError
from orchestrator.imaging.decoding import decode
from orchestrator.imaging.files import from_base64
from orchestrator.imaging.headers import check_file
from orchestrator.reading.crops import crop_plates
from orchestrator.serving.gateway.errors import GatewayError
from orchestrator.serving.gateway.grpc.server import SERVICE, Servicer
from orchestrator.serving.gateway.http import kserve_routes, rest_routes
from orchestrator.serving.gateway.http.snapshot_api import snapshot_routes
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from orchestrator.serving.gateway.policy.validation import check, check_served, take_timeout
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse
from tests.serving.gateway.http.rest_fakes import PLATE, answer_with

MAX_PIXELS = 1_000_000
LIMITS = Limits(body_mb=8, pixels=MAX_PIXELS, crop_pixels=MAX_PIXELS, pictures=4)
MAX_REFUSAL_BYTES = 4096
"""Largest error message, whatever the request."""
ANSWERED = (200, 201)
CALLERS = {*ANSWERED, 400, 404, 405, 411, 413, 415}
"""HTTP statuses of answers and of callers' errors."""
READER_SIZE = (1, 3, 24, 94)


class DoorFault(Exception):  # noqa: N818 - what a door looks for
    """An input caused neither an answer nor a rejection."""


@dataclass(frozen=True)
class RawRequest:
    """A request in bytes, before it is parsed.

    Attributes:
        door: Name of its entry point, one of `DOORS`.
        metadata: Data beside the body: a content type, the size of the JSON, or a query.
        body: The rest.
    """

    door: str
    metadata: str = ""
    body: bytes = field(default=b"", repr=False)


@dataclass
class DoorService:
    """A service that admits all callers, and answers each valid request with one plate."""

    limits: Limits = LIMITS
    error: Exception | None = None
    options: GatewayOptions = field(default_factory=GatewayOptions)

    @asynccontextmanager
    async def admit(
        self,
        protocol: str,
        kind: str,
        address: str,
        headers: Mapping[str, str],
        *,
        identify: object = None,
    ) -> AsyncIterator[DoorService]:
        self.error = None
        try:
            yield self
        except Exception as error:
            self.error = error
            raise

    @property
    def admission(self) -> DoorService:
        return self

    @property
    def slots(self) -> DoorService:
        return self

    @property
    def connections(self) -> SimpleNamespace:
        return SimpleNamespace(proxies=None)

    def reserve(self, call: Any, size: int) -> None: ...

    def receive(self, _call: Any) -> AbstractContextManager[None]:
        return nullcontext()

    def check_served(self, model: str, version: str) -> None:
        check_served(model, version, GatewayOptions().served_models)

    async def infer(self, _call: Any, call: InferenceRequest) -> InferenceResponse:
        self.check_served(call.model, call.version)
        return answer_with(check(take_timeout(call), self.limits), [PLATE])

    async def metadata_of(self, model: str, version: str) -> Any:
        return SERVICE

    async def config_of(self, model: str, version: str) -> Any:
        return SERVICE


SERVICE_OF_ALL = DoorService()
APP = Starlette(
    routes=[
        *kserve_routes.infer_routes(SERVICE_OF_ALL),  # type: ignore[arg-type]
        *rest_routes.infer_routes(SERVICE_OF_ALL),  # type: ignore[arg-type]
        *snapshot_routes.routes(SERVICE_OF_ALL),  # type: ignore[arg-type]
    ]
)
INFER = Servicer(SERVICE_OF_ALL, LIMITS).service(
    SimpleNamespace(method=f"/{SERVICE.full_name}/ModelInfer")
)
LOOP = asyncio.new_event_loop()


def open_picture(file: bytes) -> str:
    """Decode a picture file, or its base64 text, and resize it for both networks."""
    try:
        file = from_base64(file)
        header = check_file(file, MAX_PIXELS)
        picture = decode(file, max_pixels=MAX_PIXELS)
    except PictureError as error:
        return check_refusal(str(error))
    height, width = picture.shape[:2]
    if picture.dtype != torch.uint8 or (width, height) != header.upright_wh:
        raise DoorFault(f"picture: wanted uint8 of {header}, got {picture.dtype} {picture.shape}")
    box = letterbox(picture, 64)
    whole = torch.tensor([[0.0, 0, width, height]])
    if max(box.net.shape) > 64 or crop_plates(picture, whole).shape != READER_SIZE:
        raise DoorFault(f"letterbox: wanted up to 64 pixels, got {box.net.shape}")
    return "answered"


def check_refusal(message: str) -> str:
    """Return `refused`, after checking that the error message is not too long."""
    if not message or len(message.encode()) > MAX_REFUSAL_BYTES:
        raise DoorFault(f"refusal: wanted up to {MAX_REFUSAL_BYTES} bytes, got {len(message)}")
    return "refused"


PATHS = {
    "kserve": "/v2/models/plate_recognition/infer",
    "kserve-reader": "/v2/models/plate_reader/infer",
    "rest": "/v1/recognize",
    "crops": "/v1/read",
    "query": "/v1/recognize",
    "snapshot": "/v1/plate-reader/",
    "vision": "/v1/vision/alpr",
}
DOORS = (*PATHS, "grpc")


def ask(request: RawRequest) -> str:
    """Send a request to its entry point.

    Returns:
        The outcome: `answered` or `refused`.

    Raises:
        Fault: The outcome is another one.
    """
    if request.door == "grpc":
        return _ask_grpc(request)
    query = request.metadata if request.door == "query" else ""
    headers = {} if request.door == "query" else {"Content-Type": request.metadata}
    if request.door.startswith("kserve"):
        headers = {"Inference-Header-Content-Length": request.metadata} if request.metadata else {}
    return _ask_http(PATHS[request.door], query, headers, request.body)


def _ask_http(path: str, query: str, headers: Mapping[str, str], body: bytes) -> str:
    all_headers = {"Host": "localhost", "Content-Length": str(len(body)), **headers}
    scope = {
        "type": "http", "method": "POST", "path": path, "root_path": "", "http_version": "1.1",
        "query_string": query.encode("latin-1", "replace"), "client": ("127.0.0.1", 1),
        "headers": [(name.lower().encode(), text.encode("latin-1", "replace"))
                    for name, text in all_headers.items()],
    }  # fmt: skip
    answer: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        answer.append(message)

    LOOP.run_until_complete(APP(scope, receive, send))
    return _judge(answer[0]["status"], answer[1]["body"])


def _judge(status: int, content: bytes) -> str:
    _check_error()
    if status not in CALLERS:
        raise DoorFault(f"status: wanted an answer or a refusal, got {status}: {content[:200]!r}")
    return "answered" if status in ANSWERED else check_refusal(content.decode())


def _check_error() -> None:
    error = SERVICE_OF_ALL.error
    if error is not None and not isinstance(error, (RequestError, GatewayError)):
        raise DoorFault(f"fault: {error!r:.300}") from error


class Aborted(Exception):  # noqa: N818 - as gRPC ends a call
    """gRPC's end of a call that is refused."""


@dataclass
class Context:
    """A fake context of a gRPC call."""

    message: bytes

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        callback(self)

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"

    def invocation_metadata(self) -> tuple[()]:
        return ()

    async def read(self) -> bytes:
        return self.message

    async def abort(self, code: Any, details: str, trailing: Any = ()) -> None:
        raise Aborted(code.name, details)


def _ask_grpc(request: RawRequest) -> str:
    SERVICE_OF_ALL.error = None
    try:
        LOOP.run_until_complete(INFER.stream_unary(None, Context(request.body)))
    except Aborted as aborted:
        _check_error()
        return check_refusal(aborted.args[1])
    return "answered"


def pack(request: RawRequest) -> bytes:
    """Return a request as input of a fuzzer: entry point, data in one line, body."""
    return (
        bytes([DOORS.index(request.door)])
        + request.metadata.encode("latin-1")
        + b"\n"
        + request.body
    )


def unpack(packed: bytes) -> RawRequest:
    """Return the request that a fuzzer's input, any bytes, stands for."""
    metadata, _, body = packed[1:].partition(b"\n")
    return RawRequest(
        DOORS[(packed[0] if packed else 0) % len(DOORS)], metadata.decode("latin-1"), body
    )
