"""Cameras, their states, stills and areas, and messages that they send by themselves."""

from __future__ import annotations

from dataclasses import replace
from email.utils import formatdate

from starlette.responses import Response

from orchestrator.errors import ParameterError, SettingsError
from orchestrator.host.toml_files import build
from orchestrator.serving.gateway.extension import RETRY_AFTER_S, ServiceFull, announced_size
from plate_cameras.clocks import unix_s
from plate_cameras.configuration import Camera
from plate_cameras.control_room.access.policy import Forbidden
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import Conflict, ControlRoom, RoomRequest
from plate_cameras.control_room.operations import JPEG as JPEG_FILE
from plate_cameras.control_room.operations import Operation, route
from plate_cameras.control_room.rest.documents import to_camera
from plate_cameras.control_room.rest.exchange import (
    answer,
    body_of,
    named_in_path,
    page_of,
    query_of,
    requester_of,
)
from plate_cameras.control_room.rest.queries import AreasBody, NamesQuery, Query
from plate_cameras.control_room.rest.schemas import CameraAnswer, CamerasAnswer, Ingested
from plate_cameras.message_forms import PUSH, form_of
from plate_cameras.sources.sent.message_reader import CameraMessage, read_message
from plate_cameras.sources.sent.message_times import settle_time
from plate_cameras.store.writing.live_tables import Areas, draw_on
from plate_cameras.store.writing.pushed_pictures import PushedPicture, TooManyWaiting

CAMERA = "/v1/cameras/{name}"
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""Largest message: some pictures of a camera, in base64."""
BASIC = 'Basic realm="plates", Bearer'
"""Cameras send user and password only after they are asked for them."""


def read_cameras(room: ControlRoom) -> dict[str, CameraAnswer]:
    """Return all configured cameras with their states. This blocks."""
    live = room.store.live
    states, drawn_areas, stills = live.states(), live.areas(), live.still_times()
    fresh = room.ages.fresh(states)
    return {
        name: to_camera(
            camera,
            states.get(name),
            drawn_areas.get(name),
            stills.get(name),
            is_fresh=name in fresh,
        ).model_copy(update={"still_blur": room.configuration.store.blur})
        for camera in draw_on(room.configuration.cameras, drawn_areas)
        for name in [camera.name]
    }


@Operation("cameras", "All cameras", "cameras", answer=CamerasAnswer, query=NamesQuery)
@route("GET", "/v1/cameras", Role.VIEWER, is_background=True)
async def list_all(request: RoomRequest) -> Response:
    """Return a page of the cameras that the principal may see."""
    page, cursor = page_of(request.cameras, query_of(request, NamesQuery))
    answers = await request.room.threads.run(lambda: read_cameras(request.room))
    cameras = tuple(answers[camera.name] for camera in page if camera.name in answers)
    return answer(CamerasAnswer(cameras=cameras, cursor=cursor))


@Operation("camera", "One camera", "cameras", answer=CameraAnswer)
@route("GET", CAMERA, Role.VIEWER, is_background=True)
async def get(request: RoomRequest) -> Response:
    """Return one camera."""
    query_of(request, Query)
    return await _describe(request, camera_of(request))


@Operation("still", "The last picture of a camera", "cameras", media=JPEG_FILE)
@route("GET", f"{CAMERA}/still.jpg", Role.VIEWER, is_background=True)
async def still(request: RoomRequest) -> Response:
    """Return the last still of a camera."""
    query_of(request, Query)
    name = camera_of(request).name
    picture = await request.room.threads.run(lambda: request.room.store.live.still(name))
    headers = {
        "cache-control": "private, no-cache",
        "last-modified": formatdate(picture.time_s, usegmt=True),
        "etag": f'"{picture.time_s!r}"',
    }
    if headers["etag"] in request.request.http.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(picture.jpeg, media_type="image/jpeg", headers=headers)


@Operation(
    "putAreas", "Draw zones, lines and masks", "cameras", answer=CameraAnswer, body=AreasBody
)
@route("PUT", f"{CAMERA}/areas", Role.ADMINISTRATOR)
async def put_areas(request: RoomRequest) -> Response:
    """Put drawn areas in the place of those of the file."""
    requester = requester_of(request, query_of(request, Query))
    camera, body = camera_of(request), await body_of(request, AreasBody)
    areas, live = to_areas(camera, body), request.room.store.live
    await request.room.threads.run(lambda: live.draw(camera.name, areas, requester))
    return await _describe(request, camera)


@Operation("deleteAreas", "Go back to the areas of the file", "cameras", answer=CameraAnswer)
@route("DELETE", f"{CAMERA}/areas", Role.ADMINISTRATOR)
async def delete_areas(request: RoomRequest) -> Response:
    """Go back to the areas of the file."""
    requester = requester_of(request, query_of(request, Query))
    camera, live = camera_of(request), request.room.store.live
    await request.room.threads.run(lambda: live.erase(camera.name, requester))
    return await _describe(request, camera)


def camera_of(request: RoomRequest) -> Camera:
    """Return the camera that the path names.

    Raises:
        UnknownName: There is none, or the principal may not see it.
    """
    return named_in_path(request, request.cameras, "camera")


def to_areas(camera: Camera, body: AreasBody) -> Areas:
    """Return the areas of a body.

    Raises:
        ParameterError: A name comes twice, or points are missing or outside of the frame.
    """
    try:
        areas = build(Areas, body.model_dump(mode="json"))
        replace(camera, **vars(areas))
    except SettingsError as error:
        raise ParameterError(f"body: {error}") from error
    return areas


async def _describe(request: RoomRequest, camera: Camera) -> Response:
    room = request.room
    return answer((await room.threads.run(lambda: read_cameras(room)))[camera.name])


@Operation(
    "ingest",
    "Send a picture as a camera does",
    "cameras",
    answer=Ingested,
    text_body="application/octet-stream",
    text_about="The message as the camera sends it: a form with XML or JSON and pictures, or JSON "
    "with a picture in base64, with any content type",
    max_text_bytes=MAX_MESSAGE_BYTES,
    problems=("409",),
    takes_reason=False,
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
            "that is read in another way"
        )
    headers = request.request.http.headers
    announced_size(headers, MAX_MESSAGE_BYTES)
    body, content_type = await request.body(), headers.get("content-type", "")
    try:
        result = await request.room.threads.run(lambda: _keep(request, camera, body, content_type))
    except TooManyWaiting as error:
        raise ServiceFull(str(error), RETRY_AFTER_S) from error
    return answer(Ingested(result=result))


def _keep(request: RoomRequest, camera: Camera, body: bytes, content_type: str) -> str:
    """Read a message, and keep its picture for the watcher."""
    message = read_message(body, content_type, form_of(camera.url, camera.message))
    if message is None:
        return "ignored"
    is_new = request.room.store.pushed_pictures.put(_to_picture(camera, message))
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


ROUTES = (list_all, get, still, put_areas, delete_areas, ingest)
