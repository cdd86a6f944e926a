"""Callers that send different pictures in turn, and compare each answer with the right one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import cv2
import numpy as np

from orchestrator.contract import OUTPUTS
from orchestrator.errors import ModelError
from orchestrator.formats.plate_formats import russian
from orchestrator.imaging.files import Bgr
from workshop.benchmarks.load.closed_loop import Load, Outcome, send_by
from workshop.benchmarks.load.connections import ANSWERED, UNREADABLE, Connection, Reply, digest
from workshop.benchmarks.load.requests import HttpRequest, Request, file, kserve_grpc, kserve_http
from workshop.benchmarks.load.requests import rest as over_rest
from workshop.benchmarks.pictures import Picture, encode
from workshop.rendering.scenery import Scene, scene
from workshop.rendering.texts import random_text

SIZE_WH = (800, 600)
SCENES = 12
"""The most scenes that are drawn, as one takes half a second; pictures are cut from them."""
PLATES = 3
SHIFT_PX = 48
STEP_PX = 3
"""The distance between two parts of the same scene."""
POSITIONS = SHIFT_PX // STEP_PX
MAX_MARGIN_PX = 16
"""The limit of the margins of a crop; they are smaller."""


def render_pictures(count: int) -> list[Picture]:
    """Draw a number of different pictures, the same ones every time."""
    return [
        encode(f"picture {number}", cut(draw_scene(number % SCENES).picture, number // SCENES))
        for number in range(count)
    ]


def render_crops(count: int) -> list[Picture]:
    """Draw a number of different crops of plates, the same ones every time."""
    return [
        encode(f"crop {number}", crop(draw_scene(number % SCENES), number // SCENES))
        for number in range(count)
    ]


def cut(larger: Bgr, place: int) -> Bgr:
    """Cut a picture of `SIZE_WH` from a larger one, at another place for each number."""
    left, top = (STEP_PX * step for step in divmod(place % POSITIONS**2, POSITIONS))
    width, height = SIZE_WH
    return larger[top : top + height, left : left + width]


def crop(street: Scene, margins: int) -> Bgr:
    """Cut the first plate out, with other margins for each number."""
    across, down = divmod(margins % MAX_MARGIN_PX**2, MAX_MARGIN_PX)
    x0, y0, x1, y1 = street.xyxy[0].astype(int)
    return street.picture[max(0, y0 - down) : y1 + down, max(0, x0 - across) : x1 + across]


@cache
def draw_scene(seed: int) -> Scene:
    """Draw a street whose plates no other seed has."""
    rng = np.random.default_rng((seed, PLATES))
    texts = [random_text(rng, russian(), "ru_car")[0] for _ in range(PLATES)]
    width, height = SIZE_WH
    return scene(texts, (width + SHIFT_PX, height + SHIFT_PX), seed=seed)


def enlarge(picture: Picture, size_wh: tuple[int, int]) -> Picture:
    """Return a picture scaled up to a size."""
    larger = cv2.resize(picture.bgr, size_wh).astype(np.uint8)
    return encode(f"large {picture.name}", larger)


def find_twins(answers: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of equal answers: an exchange of these two would not be noticed."""
    first: dict[str, int] = {}
    pairs = []
    for position, answer in enumerate(answers):
        if (earlier := first.setdefault(answer, position)) != position:
            pairs.append((earlier, position))
    return pairs


HTTP, GRPC, REST, READ = "http", "grpc", "rest", "rest read"
TENSORS = (HTTP, GRPC)
"""The protocols whose answers to a picture are equal, bit by bit."""
TIMEOUT_S = 20.0
"""The timeout for an answer; a call without an answer by then is lost."""
BACKOFF_S = 0.25
"""The backoff of a caller after a call without an answer, in seconds."""

Requests = Mapping[str, Sequence[Request]]
"""By protocol, the request for each picture. They are built once, to leave the cores free."""
Answers = Mapping[str, Sequence[str]]
"""By protocol, the hash of each picture's answer."""
Open = Callable[[], Connection]


def build_requests(pictures: Sequence[Picture], crops: Sequence[Picture]) -> Requests:
    """Build the requests for pictures, and for as many crops of plates."""
    return {
        HTTP: [
            kserve_http([file(picture.file_bytes)], outputs=tuple(OUTPUTS)) for picture in pictures
        ],
        GRPC: [
            kserve_grpc([file(picture.file_bytes)], outputs=tuple(OUTPUTS)) for picture in pictures
        ],
        REST: [_rest(picture, "/v1/recognize") for picture in pictures],
        READ: [_rest(crop, "/v1/read") for crop in crops],
    }


def build_text_requests(pictures: Sequence[Picture]) -> Requests:
    """Build requests for the texts alone: in batches, the scores of PyTorch differ a little."""
    files = [[file(picture.file_bytes)] for picture in pictures]
    return {
        HTTP: [kserve_http(tensors, outputs=("texts",)) for tensors in files],
        GRPC: [kserve_grpc(tensors, outputs=("texts",)) for tensors in files],
    }


def _rest(picture: Picture, path: str) -> HttpRequest:
    return over_rest(picture.file_bytes, path, Content_Type="image/jpeg")


def take_answers(requests: Requests, connection: Connection) -> Answers:
    """Send the requests one by one to a service without load; return the hashes of its answers."""
    answers = {
        protocol: [
            _take(f"{protocol}: picture {number}", connection, request)
            for number, request in enumerate(requests_of_protocol)
        ]
        for protocol, requests_of_protocol in requests.items()
    }
    for protocol, digests in answers.items():
        if twins := find_twins(digests):
            raise ModelError(f"{protocol}: wanted different answers, got one for {twins[0]}")
    tensors = [digests for protocol, digests in answers.items() if protocol in TENSORS]
    if any(digests != tensors[0] for digests in tensors):
        raise ModelError(f"wanted the same answers over {', '.join(answers)}, got different ones")
    return answers


def _take(name: str, connection: Connection, request: Request) -> str:
    reply = connection.send(request)
    if reply.status != ANSWERED:
        raise ModelError(f"{name}: {reply.status}: {reply.error}")
    return digest(request, reply)


def open_load(
    requests: Requests, answers: Answers, connection: Open, each: int, most: int | None = None
) -> Load:
    """Return a load with `each` callers of every protocol, which send at most `most` calls."""
    connect = {
        protocol: send_by(
            connection, partial(_send_in_turn, requests_of_protocol, answers[protocol])
        )
        for protocol, requests_of_protocol in requests.items()
    }
    return Load(connect, each, most, BACKOFF_S)


def _send_in_turn(
    requests: Sequence[Request], answers: Sequence[str], connection: Connection, number: int
) -> Outcome:
    number %= len(requests)
    return check(requests[number], connection.send(requests[number]), answers[number])


def check(request: Request, reply: Reply, answer: str) -> Outcome:
    """Compare the hash of a reply with that of the right answer."""
    if reply.status != ANSWERED:
        return Outcome(reply.status, error=reply.error)
    try:
        return Outcome(is_wrong=digest(request, reply) != answer)
    except UNREADABLE as error:
        return Outcome(is_wrong=True, error=f"cannot read the answer: {error}")
