"""Where the time of one call goes, step by step, in process and through the server.

    python -m benchmarks.stages --plates 0,1,4,20 --seconds 1 --rounds 5

The pipeline runs in this process with an `Infer` that looks at the clock: what lies between its
calls is the work of the steps between the networks. Then one caller sends the same picture to a
server with the same engine, which counts its own time; what it has more is the price of serving.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
import tritonclient.http
from torch import Tensor

from benchmarks import OUTPUTS
from benchmarks.calls import connected
from benchmarks.load import closed_loop
from benchmarks.metrics import difference, scrape
from benchmarks.pictures import Picture, rendered
from benchmarks.report import figure, numbers, write
from benchmarks.rivals import BLS
from evaluation.tables import aligned
from orchestrator import contract
from orchestrator.contract import MODEL
from orchestrator.errors import ModelError, PlateError
from orchestrator.images import crop_plates, decode
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_networks
from orchestrator.networks.registry import NETWORKS
from orchestrator.pipeline import Infer, Tensors, recognize
from orchestrator.server.local import on_free_ports, prepare
from orchestrator.server.options import ServerOptions
from orchestrator.server.process import running
from orchestrator.settings import Settings

Times = dict[str, float]
"""Milliseconds by name of the step."""
WARM_UP_S = 0.2
"""Of the server, which slept while the pipeline ran in process."""
SETTLED_S = 0.05
"""After an answer, until the server has counted it."""
IN_PROCESS = (
    "unpack JPEG", "letterbox", "yolo", "NMS", "crops", "stn", "corners", "lprnet", "CTC", "answer",
)  # fmt: skip


@dataclass(frozen=True)
class Span:
    """When a network ran."""

    name: str
    began: float
    ended: float


def watched(infer: Infer, spans: list[Span]) -> Infer:
    """Return an `Infer` that notes when it is called and when it answers."""

    def timed(name: str, tensors: Tensors) -> Tensors:
        began = time.perf_counter()
        answer = infer(name, tensors)
        spans.append(Span(name, began, time.perf_counter()))
        return answer

    return timed


@torch.inference_mode()
def one_pass(infer: Infer, settings: Settings, encoded: bytes) -> Times:
    """Recognise a picture from its file to the answer's arrays and time each step."""
    spans: list[Span] = []
    began = time.perf_counter()
    picture = decode(encoded, max_pixels=settings.max_pixels)
    unpacked = time.perf_counter()
    plates = recognize(picture, watched(infer, spans), settings, outputs=OUTPUTS)
    known = time.perf_counter()
    contract.to_arrays(plates, OUTPUTS)
    answered = time.perf_counter()
    yolo, *readers = spans
    chosen = readers[0].began if readers else known  # NMS and crops are done
    crops = _crops_s(picture, torch.tensor([plate.xyxy for plate in plates]))
    times = {name: sum(s.ended - s.began for s in spans if s.name == name) for name in NETWORKS}
    times |= {
        "unpack JPEG": unpacked - began,
        "letterbox": yolo.began - unpacked,
        "NMS": chosen - yolo.ended - crops,
        "crops": crops,
        "CTC": known - readers[-1].ended if readers else 0.0,
        "answer": answered - known,
    }
    times["corners"] = answered - began - sum(times.values())
    return {name: 1e3 * times[name] for name in IN_PROCESS}


def _crops_s(picture: Tensor, xyxy: Tensor) -> float:
    """Cut the crops once more; the pipeline does not tell how long that took."""
    if not len(xyxy):
        return 0.0
    began = time.perf_counter()
    crop_plates(picture, xyxy)
    return time.perf_counter() - began


def in_process(infer: Infer, settings: Settings, encoded: bytes, seconds: float) -> Times:
    """Return each step's mean over as many passes as fit, the first one not counted."""
    one_pass(infer, settings, encoded)
    end = time.monotonic() + seconds
    passes: list[Times] = []
    while time.monotonic() < end or not passes:
        passes.append(one_pass(infer, settings, encoded))
    return {name: statistics.fmean(one[name] for one in passes) for name in IN_PROCESS}


def served(picture: Picture, options: ServerOptions, seconds: float, bare: Times) -> Times:
    """Return what a call takes, and how much of it is transport and hops.

    Transport is what the client sees beyond the time of `plate_recognition` in the server; hops is
    what that time has beyond the same steps in process.

    Raises:
        ModelError: A call failed.
    """
    closed_loop(lambda: connected(BLS, picture, options.http_url), 1, WARM_UP_S)
    time.sleep(SETTLED_S)
    before = scrape(options.metrics_url)
    loop = closed_loop(lambda: connected(BLS, picture, options.http_url), 1, seconds)
    time.sleep(SETTLED_S)
    counted = difference(before, scrape(options.metrics_url))
    if loop.errors or not loop.latencies_ms:
        raise ModelError(f"{picture.name}: wanted answers, got {loop.first_error or 'none'}")
    call = statistics.fmean(loop.latencies_ms)
    ms = 1 / counted[MODEL, "request_success"] / 1e3  # a picture, of so many microseconds
    models = {name: counted[name, "request_duration_us"] * ms for name in (MODEL, *NETWORKS)}
    return {
        "one call": call,
        "transport": call - models[MODEL],
        "hops": models[MODEL] - sum(bare.values()),
        **{f"{name}, served": models[name] for name in NETWORKS},
    }


@contextmanager
def server(engine: Engine) -> Iterator[tuple[ServerOptions, Settings]]:
    """Run a server on the CPU; gives its options and settings."""
    options = on_free_ports(prepare(ServerOptions(device="cpu", engine=engine)))
    with running(options):
        with tritonclient.http.InferenceServerClient(options.http_url) as client:
            parameters = client.get_model_config(MODEL)["parameters"]
        yield options, Settings.from_config(parameters)


def networks(options: ServerOptions) -> Infer:
    """Load the networks into this process with the threads that the server's processes have."""
    engine, capacity = options.choose_engine(), options.capacity()
    threads = capacity.threads if capacity else 1
    torch.set_num_threads(1 if engine.is_openvino else threads)
    torch.set_flush_denormal(True)
    return load_networks(engine=engine, threads=threads)


def measure(
    pictures: Sequence[Picture], engine: Engine, *, seconds: float, rounds: int
) -> tuple[str, dict[str, Times]]:
    """Return the engine that ran, and each picture's times, the medians of the rounds."""
    many: dict[str, list[Times]] = {picture.name: [] for picture in pictures}
    with server(engine) as (options, settings):
        infer = networks(options)
        for _ in range(rounds):
            for picture in pictures:
                bare = in_process(infer, settings, picture.encoded, seconds)
                times = bare | served(picture, options, seconds, bare)
                many[picture.name].append(times | {"in process": sum(bare.values())})
    engine_name = options.choose_engine().value
    return engine_name, {name: _median(rows) for name, rows in many.items()}


def _median(rows: Sequence[Times]) -> Times:
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def text_of(times: Mapping[str, Times]) -> str:
    """Return the table: a row for each step, a column for each picture."""
    inside = [f"{name}, served" for name in NETWORKS]
    steps = [*IN_PROCESS, "in process", "hops", "transport", "one call", *inside]
    rows = [(step, *(figure(one[step]) for one in times.values())) for step in steps]
    return aligned([("ms", *times), *rows])


def run(arguments: argparse.Namespace) -> None:
    """Measure and write `stages.json`."""
    pictures = [rendered(count) for count in arguments.plates]
    timing = {"seconds": arguments.seconds, "rounds": arguments.rounds}
    engine, times = measure(pictures, Engine(arguments.engine), **timing)
    print(f"{engine}\n\n{text_of(times)}")
    write(arguments.out / "stages.json", {"engine": engine, **timing, "ms": times})


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stages")
    parser.add_argument("--plates", type=numbers, default=(0, 1, 4, 20), help="of each picture")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each picture in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engine", choices=[one.value for one in Engine], default="auto")
    parser.add_argument("--out", type=Path, default=Path("bench"), help="folder of stages.json")
    try:
        run(parser.parse_args())
    except PlateError as error:
        raise SystemExit(f"stages: {error}") from error


if __name__ == "__main__":
    main()
