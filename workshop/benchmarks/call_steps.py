"""`python -m workshop.benchmarks.call_steps`: the functions that one call runs in the gateway.

The gateway runs in this process, in front of a Triton that answers every call with four plates.
This Triton and the callers have processes of their own. So the CPU time of this process is the
cost of the calls for the gateway.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Annotated, Any

import grpc
import typer
import uvloop
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import orchestrator
from orchestrator.contract import OUTPUTS, STAGE_SECONDS, STAGES, to_arrays
from orchestrator.plates import Plate, Plates
from orchestrator.serving.gateway.options import Address, GatewayOptions, Limits
from orchestrator.serving.gateway.server import serve
from orchestrator.serving.protocol.arrays import to_tensor
from orchestrator.serving.protocol.inference import InferenceResponse, Tensor
from orchestrator.serving.protocol.kserve_grpc import to_response
from orchestrator.serving.supervisor.ports import free_ports
from workshop.benchmarks.load.connections import ANSWERED, Connection
from workshop.benchmarks.load.requests import Request, file, kserve_grpc, kserve_http, rest
from workshop.benchmarks.pictures import render

OURS = str(Path(orchestrator.__file__).parent)
WARM_UP, TRACED = 20, 20
"""Calls before the measurement, and calls that are traced: what not all of them run is no step of a
call, but of the background."""
MAX_DEPTH = 3
"""Largest number of steps from an argument to the picture's bytes."""
CORNERS = ((10.0, 20.0), (110.0, 21.0), (110.5, 45.0), (11.0, 44.0))
PLATE = Plate(
    xyxy=(10.0, 20.0, 110.0, 45.0),
    detection_score=0.75,
    text="A123BC77",
    text_score=0.875,
    raw_text="A123BC77",
    character_scores=(0.5,) * 8,
    candidates=(("A123BC77", 0.875),) * 5,
    corners=CORNERS,
    format="ru_car",
)
STAGE_TENSOR = Tensor(STAGE_SECONDS, "FP32", (len(STAGES),), bytes(4 * len(STAGES)))


class FourPlates(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]  # no types
    """A Triton that answers every call with four plates."""

    def __init__(self) -> None:
        arrays = to_arrays(Plates((PLATE,) * 4))
        self._tensors = {name: to_tensor(name, array) for name, array in arrays.items()}
        self._tensors[STAGE_SECONDS] = STAGE_TENSOR

    def ModelInfer(self, request: Any, _context: Any) -> Any:  # noqa: N802 - gRPC's
        names = [output.name for output in request.outputs] or [*OUTPUTS]
        tensors = tuple(self._tensors[name] for name in names)
        return to_response(InferenceResponse(request.model_name, "1", request.id, tensors))

    def ModelReady(self, _request: Any, _context: Any) -> Any:  # noqa: N802
        return pb.ModelReadyResponse(ready=True)


def run_triton(port: int) -> None:
    """Serve for ever."""
    server = grpc.server(ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", -1)])
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(FourPlates(), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


def send(addresses: tuple[str, str], request: Request, count: int) -> None:
    """Send a request several times over a new connection. Each must be answered."""
    connection = Connection(*addresses)
    for _ in range(count):
        reply = connection.send(request)
        assert reply.status == ANSWERED, reply
    connection.close()


class Trace:
    """The functions of ours that run, and whether an argument of each holds the picture.

    Args:
        picture_bytes: Size of the picture. A quarter of it counts, too: it may come in parts.
    """

    def __init__(self, picture_bytes: int) -> None:
        self._least = picture_bytes // 4
        self.carries: dict[CodeType, bool] = {}
        self.runs: Counter[CodeType] = Counter()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(OURS) and not code.co_name.startswith("<")
        if event != "call" or not is_ours:
            return
        self.runs[code] += 1  # a coroutine or generator counts each time that it goes on
        if not self.carries.get(code):
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            values = [frame.f_locals[name] for name in names if name in frame.f_locals]
            self.carries[code] = any(self._holds(value, MAX_DEPTH) for value in values)

    def _holds(self, value: Any, depth: int) -> bool:
        if isinstance(value, bytes | bytearray | memoryview):
            return len(value) >= self._least
        if isinstance(value, pb.ModelInferRequest):
            return bool(value.ByteSize() >= self._least)
        parts = value if isinstance(value, list | tuple) else getattr(value, "__dict__", value)
        if isinstance(parts, Mapping):
            parts = [*parts.values()]
        return bool(depth) and isinstance(parts, list | tuple) and any(
            self._holds(part, depth - 1) for part in parts
        )  # fmt: skip


def show(carries: Mapping[CodeType, bool], runs: Mapping[CodeType, int]) -> Iterator[str]:
    """Yield a line for each function and how often it runs, those with the picture first."""
    for code in sorted(carries, key=lambda code: (not carries[code], _place(code))):
        name = getattr(code, "co_qualname", code.co_name)
        yield f"{'*' if carries[code] else ' '} {runs[code]:3} {_place(code)} {name}"


def describe(protocol: str, traces: Sequence[Trace], cost_s: float) -> str:
    """Return the text about the calls of a protocol: the functions that each of them ran."""
    common = set.intersection(*(set(trace.carries) for trace in traces))
    carries = {code: any(trace.carries[code] for trace in traces) for code in common}
    head = (
        f"## {protocol}: {len(carries)} functions, {sum(carries.values())} of them carry the "
        f"picture, {1e3 * cost_s:.2f} ms of CPU a call"
    )
    return "\n".join([head, *show(carries, traces[-1].runs)])


def _place(code: CodeType) -> str:
    return f"{code.co_filename.removeprefix(OURS + os.sep)}:{code.co_firstlineno}"


@contextmanager
def open_triton() -> Iterator[int]:
    """Run the Triton in a process of its own for the length of a `with` block; give its port."""
    (port,) = free_ports(1)
    process = multiprocessing.get_context("spawn").Process(target=run_triton, args=(port,))
    process.start()
    try:
        yield port
    finally:
        process.terminate()
        process.join()


async def measure(picture: bytes, count: int, triton: int, tell: Callable[[str], None]) -> None:
    """Serve, call over each protocol, and tell the functions and the cost of a call."""
    http, rpc = (Address("127.0.0.1", port) for port in free_ports(2))
    options = GatewayOptions(
        triton_grpc=f"127.0.0.1:{triton}",
        http=http,
        grpc=rpc,
        metrics=None,
        audit=Path(os.devnull),
        limits=Limits(calls=8, client_rate=100_000),
    )
    serving = asyncio.create_task(serve(options))
    requests: dict[str, Request] = {
        "rest": rest(picture, Content_Type="image/jpeg"),
        "kserve-http": kserve_http([file(picture)]),
        "kserve-grpc": kserve_grpc([file(picture)]),
    }
    loop, addresses = asyncio.get_running_loop(), (str(http), str(rpc))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as callers:
        for protocol, request in requests.items():
            send_calls = partial(send, addresses, request)
            await loop.run_in_executor(callers, send_calls, WARM_UP)
            traces = [Trace(len(picture)) for _ in range(TRACED)]
            for trace in traces:
                sys.setprofile(trace)
                await loop.run_in_executor(callers, send_calls, 1)
                sys.setprofile(None)
            begun_s = time.process_time()
            await loop.run_in_executor(callers, send_calls, count)
            tell(describe(protocol, traces, (time.process_time() - begun_s) / count))
    os.kill(os.getpid(), signal.SIGTERM)
    await serving


def main(
    picture: Annotated[Path | None, typer.Argument(help="A JPEG file; rendered without.")] = None,
    count: Annotated[int, typer.Option(help="Calls whose CPU time is measured.")] = 500,
) -> None:
    """List the functions that one call runs in the gateway, and tell its CPU time."""
    content = picture.read_bytes() if picture else render(4).encoded
    with open_triton() as port:
        uvloop.run(measure(content, count, port, typer.echo))


if __name__ == "__main__":
    typer.run(main)
