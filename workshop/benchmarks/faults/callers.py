"""Callers that send pictures in turn, and compare each answer with the right one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from orchestrator.contract import OUTPUTS
from orchestrator.errors import ModelError
from workshop.benchmarks.faults.pictures import find_twins
from workshop.benchmarks.load.closed_loop import Load, Outcome, send_by
from workshop.benchmarks.load.connections import ANSWERED, Connection, Reply
from workshop.benchmarks.load.requests import HttpRequest, Request, file, kserve_grpc, kserve_http
from workshop.benchmarks.load.requests import rest as over_rest
from workshop.benchmarks.load.responses import UNREADABLE, digest
from workshop.benchmarks.pictures import Picture

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
            kserve_http([file(picture.encoded)], outputs=tuple(OUTPUTS)) for picture in pictures
        ],
        GRPC: [
            kserve_grpc([file(picture.encoded)], outputs=tuple(OUTPUTS)) for picture in pictures
        ],
        REST: [_rest(picture, "/v1/recognize") for picture in pictures],
        READ: [_rest(crop, "/v1/read") for crop in crops],
    }


def build_text_requests(pictures: Sequence[Picture]) -> Requests:
    """Build requests for the texts alone: in batches, the scores of PyTorch differ a little."""
    files = [[file(picture.encoded)] for picture in pictures]
    return {
        HTTP: [kserve_http(tensors, outputs=("texts",)) for tensors in files],
        GRPC: [kserve_grpc(tensors, outputs=("texts",)) for tensors in files],
    }


def _rest(picture: Picture, path: str) -> HttpRequest:
    return over_rest(picture.encoded, path, Content_Type="image/jpeg")


def take_answers(requests: Requests, connection: Connection) -> Answers:
    """Send the requests one by one to a service without load; return the hashes of its answers."""
    answers = {
        protocol: [
            _take(f"{protocol}: picture {n}", connection, request) for n, request in enumerate(many)
        ]
        for protocol, many in requests.items()
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
        protocol: send_by(connection, partial(_send_in_turn, many, answers[protocol]))
        for protocol, many in requests.items()
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
