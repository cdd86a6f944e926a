"""Messages that cameras send by themselves, with a picture of a vehicle."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from starlette.responses import Response

from orchestrator.serving.gateway.extension import (
    RETRY_AFTER_S,
    Model,
    ServiceFull,
    announced_size,
)
from plate_cameras.clocks import unix_s
from plate_cameras.configuration import Camera
from plate_cameras.control_room.access.policy import Forbidden
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import Conflict, RoomRequest
from plate_cameras.control_room.operations import Described, route
from plate_cameras.control_room.rest.cameras import camera_of
from plate_cameras.control_room.rest.exchange import answer
from plate_cameras.message_forms import PUSH, form_of
from plate_cameras.sources.sent.message_reader import CameraMessage, read_message, settle_time
from plate_cameras.store.writing.pushed_pictures import PushedPicture, TooManyWaiting

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""Largest message: some pictures of a camera, in base64."""
BASIC = 'Basic realm="plates", Bearer'
"""Cameras send user and password only after they are asked for them."""
Result = Literal["accepted", "repeated", "ignored"]


class Ingested(Model):
    """What became of a camera's message."""

    result: Result = Field(
        description="`accepted`: its picture will be read; `repeated`: it had come before; "
        "`ignored`: it tells of no vehicle, as a heartbeat does",
        examples=["accepted"],
    )


@Described(
    "ingest",
    "Send a picture as a camera does",
    "cameras",
    answer=Ingested,
    text_body="application/octet-stream",
    text_about="The message as the camera sends it: a form with XML or JSON and pictures, or JSON "
    "with a picture in base64, with any content type",
    max_text_bytes=MAX_MESSAGE_BYTES,
    problems=("409",),
    is_searching=False,
)
@route("POST", "/v1/ingest/{name}", Role.SENDER, challenge=BASIC)
async def ingest(request: RoomRequest) -> Response:
    """Take a message of a camera whose `url` begins with `push:`."""
    role = request.principal.role
    if role not in (Role.SENDER, Role.ADMINISTRATOR):
        raise Forbidden(f"role: wanted sender or administrator, got {role.name.lower()}")
    camera = camera_of(request)
    if not camera.url.startswith(PUSH):
        raise Conflict(
            f"camera {camera.name}: wanted one that sends by itself (url = {PUSH}...), got one "
            "whose pictures are fetched"
        )
    headers = request.request.http.headers
    announced_size(headers, MAX_MESSAGE_BYTES)
    body, content_type = await request.body(), headers.get("content-type", "")
    try:
        result = await request.room.threads.run(lambda: _keep(request, camera, body, content_type))
    except TooManyWaiting as error:
        raise ServiceFull(str(error), RETRY_AFTER_S) from error
    return answer(Ingested(result=result))


def _keep(request: RoomRequest, camera: Camera, body: bytes, content_type: str) -> Result:
    """Read a message, and keep its picture for the watcher."""
    message = read_message(body, content_type, form_of(camera.url, camera.message))
    if message is None:
        return "ignored"
    is_new = request.room.store.pushed.put(_to_picture(camera, message))
    return "accepted" if is_new else "repeated"


def _to_picture(camera: Camera, message: CameraMessage) -> PushedPicture:
    time_s, is_own = settle_time(message.time_s, unix_s())
    return PushedPicture(
        camera=camera.name,
        digest=message.digest,
        jpeg=message.picture,
        text=message.text,
        score=message.score,
        time_s=time_s,
        clock="stream" if is_own else "wall",
    )


ROUTES = (ingest,)
