"""Opens callers for the transports of a plan: pixels or a file over HTTP, and pixels over gRPC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from orchestrator.contract import OUTPUTS
from workshop.benchmarks.bench.plan import GRPC, HTTP_ENCODED, Address
from workshop.benchmarks.load.closed_loop import Outcome, Send
from workshop.benchmarks.load.connections import ANSWERED, Connection, count_rows
from workshop.benchmarks.load.requests import Request, file, kserve_grpc, kserve_http, pixels
from workshop.benchmarks.pictures import Picture


def build_request(picture: Picture, transport: str) -> Request:
    """Return the request for a transport. The first output has one row for each plate."""
    inputs = [file(picture.file_bytes) if transport == HTTP_ENCODED else pixels(picture.bgr)]
    build = kserve_grpc if transport == GRPC else kserve_http
    return build(inputs, outputs=tuple(OUTPUTS))


@contextmanager
def connect(transport: str, picture: Picture, address: Address) -> Iterator[Send]:
    """Open one caller's connection; gives a function that makes one call and counts the plates."""
    request = build_request(picture, transport)
    with closing(Connection(address.http, address.grpc)) as connection:

        def send(number: int) -> Outcome:
            reply = connection.send(request)
            if reply.status != ANSWERED:
                return Outcome(reply.status, error=f"{reply.status}: {reply.error}")
            return Outcome(plates=count_rows(request, reply))

        yield send
