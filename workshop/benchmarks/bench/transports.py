"""Opens callers for the transports of a plan: HTTP, gRPC, and gRPC with shared memory."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

import tritonclient.grpc
from tritonclient.utils import InferenceServerException, shared_memory

from orchestrator.contract import OUTPUTS
from orchestrator.errors import ServerError
from orchestrator.host.loopback import PAST_PROXY
from orchestrator.serving.supervisor.options import ADMIN_METADATA
from workshop.benchmarks.bench.plan import GRPC_SHM, HTTP_ENCODED, OVER_GRPC, Address
from workshop.benchmarks.load.closed_loop import Outcome, Send
from workshop.benchmarks.load.connections import ANSWERED, Connection, count_rows
from workshop.benchmarks.load.requests import Request, file, kserve_grpc, kserve_http, pixels
from workshop.benchmarks.pictures import Picture

REGION = f"plates_bench_{os.getpid()}_"
"""The prefix of the names of our shared memory regions."""
_numbers = itertools.count()


def build_request(picture: Picture, transport: str, region: str = "") -> Request:
    """Return the request for a transport, with its picture in the region if named.

    The first output has one row for each plate.
    """
    is_file = transport == HTTP_ENCODED
    inputs = [file(picture.encoded) if is_file else pixels(picture.bgr, region=region)]
    build = kserve_grpc if transport in OVER_GRPC else kserve_http
    return build(inputs, outputs=tuple(OUTPUTS))


@contextmanager
def connect(
    transport: str, picture: Picture, address: Address, admin_key: str = ""
) -> Iterator[Send]:
    """Open one caller's connection; gives a function that makes one call and counts the plates.

    Args:
        transport: One of the transports of a plan.
        picture: The picture of every call.
        address: The addresses of the server.
        admin_key: The administrators' key, which the server needs for shared memory regions.
    """
    with ExitStack() as stack:
        is_shared = transport == GRPC_SHM
        share = _share(picture, address, admin_key) if is_shared else None
        request = build_request(picture, transport, stack.enter_context(share) if share else "")
        connection = stack.enter_context(closing(Connection(address.http, address.grpc)))

        def send(number: int) -> Outcome:
            reply = connection.send(request)
            if reply.status != ANSWERED:
                return Outcome(reply.status, error=f"{reply.status}: {reply.error}")
            return Outcome(plates=count_rows(request, reply))

        yield send


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
