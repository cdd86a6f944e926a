"""Checks that answers from a GPU are right and that tensors stay on it. See `make gpu-check`.

It sends the same pictures to a server on the GPU and to one on the CPU, and compares the answers.
It prints the device of every tensor between the models, and compares the speed with a floor.

`python -m workshop.benchmarks.gpu_check --url localhost:8000` checks a server that runs already.

Exit codes: 0 all checks passed, 1 a check failed, 2 there is no NVIDIA GPU.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
import typer

from orchestrator.client import PlateClient
from orchestrator.contract import INPUT, OUTPUT, RECTIFIER
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import recognize
from orchestrator.plates import Plate, Plates
from orchestrator.serving.supervisor.local_server import on_free_ports, prepare
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_start import run_server
from orchestrator.triton.placement import VARIABLE, Placement, parse
from workshop.benchmarks.bench.report import BenchReport
from workshop.benchmarks.pictures import Picture, encode, read, render
from workshop.benchmarks.processes import set_variables
from workshop.reporting.files import read_report
from workshop.reporting.tables import format_table

PROJECT = Path(__file__).resolve().parents[2]
STREET = PROJECT / "tests" / "data" / "street.jpg"
PLATES = (0, 1, 4, 20)
LARGE_WH = (2561, 1921)
BOX_PX, SCORE = 1.0, 0.02
"""The tolerance between both answers: the order of sums and the way of resizing differ."""
BENCH_OUT = Path("reports/bench-gpu")
BENCH = ("--concurrency=1,4,16", "--rounds=1", "--transport=http-encoded", f"--out={BENCH_OUT}")
FLOOR = 100.0
"""Smallest pictures a second of a GPU at the best number of calls at once. An H200 with 16 cores
answers 472; two cores of a CPU answer some 30."""


def differ(reference: Plates, answer: Plates) -> list[str]:
    """Describe each difference of two answers above the tolerance; the order does not matter."""
    if len(reference) != len(answer):
        return [f"plates: wanted {len(reference)}, got {len(answer)}"]
    remaining = list(answer)
    differences: list[str] = []
    for plate in reference:
        nearest = min(remaining, key=lambda other: _distance_px(plate, other))
        remaining.remove(nearest)
        differences += _different(plate, nearest)
    return differences


def _different(reference: Plate, answer: Plate) -> Iterator[str]:
    name = reference.text or reference.raw_text or "?"
    if reference.text != answer.text:
        yield f"{name}: wanted the text {reference.text!r}, got {answer.text!r}"
    if (distance := _distance_px(reference, answer)) > BOX_PX:
        yield f"{name}: wanted the box within {BOX_PX:g} px, got {distance:.2f} px"
    for kind in ("detection_score", "text_score"):
        apart = abs(getattr(reference, kind) - getattr(answer, kind))
        if apart > SCORE:
            yield f"{name}: wanted the {kind} within {SCORE:g}, got {apart:.3f}"


def _distance_px(plate: Plate, other: Plate) -> float:
    return max(
        abs(side - other_side) for side, other_side in zip(plate.xyxy, other.xyxy, strict=True)
    )


def find_astray(placements: Sequence[Placement]) -> list[Placement]:
    """Return the tensors that had to be on the GPU but were not.

    Every input must be there, as its caller sent it and as the worker got it, and so must the
    straightened crops. Boxes, logits and thetas are small, and needed on the CPU.
    """
    return [
        placement
        for placement in placements
        if (placement.tensor == INPUT or (placement.model, placement.tensor) == (RECTIFIER, OUTPUT))
        and not placement.device.startswith("cuda")
    ]


def draw_large() -> Picture:
    """Return a picture that is halved before it is letterboxed; its sides are odd on purpose."""
    bgr = cv2.resize(render(4).bgr, LARGE_WH, interpolation=cv2.INTER_CUBIC)
    _, jpeg = cv2.imencode(".jpg", bgr)
    return Picture("large", jpeg.tobytes(), np.asarray(bgr, np.uint8))


def draw_turned() -> Picture:
    """Return a picture whose plates are tilted, so that they are cut again along their edges."""
    turn = cv2.getRotationMatrix2D((640, 480), 22, 1)
    bgr = cv2.warpAffine(render(4).bgr, turn, (1280, 960), borderMode=cv2.BORDER_REFLECT)
    return encode("turned", np.asarray(bgr, np.uint8))


def draw_tall() -> Picture:
    """Return a picture that one plate fills, so high that its crop has thousands of rows."""
    bgr = render(1).bgr
    (plate,) = recognize(torch.from_numpy(bgr), load_networks(threads=1))
    x0, y0, x1, y1 = map(int, plate.xyxy)
    crop = bgr[max(y0 - 20, 0) : y1 + 20, max(x0 - 20, 0) : x1 + 20]
    return encode("tall", np.asarray(cv2.resize(crop, (1600, 2600)), np.uint8))


def recognize_on(
    device: str, pictures: Sequence[Picture], *, at_once: int = 0, pictures_on_gpu: bool = False
) -> tuple[list[Plates], list[Placement]]:
    """Return a server's answers to pictures, and the devices of its tensors.

    All are sent at once as pixels, so that networks get batches, and the last one to `plate_reader`
    as a crop. Then each is sent as a file.

    Args:
        device: The device.
        pictures: The pictures.
        at_once: Pictures that the server processes at once; 0 means as many as fit the machine.
        pictures_on_gpu: Pictures are scaled and cut on a GPU, too.
    """
    requested_options = ServerOptions(
        device=device,
        engine=Engine.TORCHSCRIPT,
        pictures=at_once,
        pictures_on_gpu=pictures_on_gpu,
    )
    options = on_free_ports(prepare(requested_options))
    with (
        set_variables({VARIABLE: "1"}),
        run_server(options) as server,
        PlateClient(options.http_url) as client,
    ):
        answers = _ask_at_once(client, pictures)
        server.log.clear()  # it keeps its last lines alone
        answers += _ask_in_turn(client, pictures)
    return answers, parse([*server.log])


def _ask_at_once(client: PlateClient, pictures: Sequence[Picture]) -> list[Plates]:
    results = client.recognize_many([picture.bgr for picture in pictures])
    answers = [plates.plates for plates in results]
    return [*answers, Plates(tuple(client.read_crops([pictures[-1].file_bytes])))]


def _ask_in_turn(client: PlateClient, pictures: Sequence[Picture]) -> list[Plates]:
    return [client.recognize(picture.file_bytes) for picture in pictures]


@dataclass(frozen=True)
class CheckResult:
    """The result of a check.

    Attributes:
        astray: The tensors that had to be on the GPU but were not.
    """

    different: tuple[str, ...]
    places: tuple[Placement, ...]
    astray: tuple[str, ...]

    @property
    def wrong(self) -> tuple[str, ...]:
        """All that is wrong on a GPU."""
        return (*self.different, *self.astray)


def check_server(
    device: str = "gpu", pictures: Sequence[Picture] | None = None, *, at_once: int = 0
) -> CheckResult:
    """Compare servers on the device with one on the CPU: pictures on the CPU, then on a GPU.

    Args:
        device: The device.
        pictures: The pictures; a set that needs every part of the pipeline when None.
        at_once: Pictures that a server processes at once; 0 means as many as fit the machine.
    """
    pictures = pictures or draw_all()
    reference, _ = recognize_on("cpu", pictures, at_once=at_once)
    usual, _ = recognize_on(device, pictures, at_once=at_once)
    answers, placements = recognize_on(device, pictures, at_once=at_once, pictures_on_gpu=True)
    different = [
        difference
        for device_answers in (usual, answers)
        for difference in _compare(device_answers, reference, pictures)
    ]
    different += [] if placements else ["placement: wanted a line for each tensor, got none"]
    strays = dict.fromkeys(find_astray(placements))
    astray = [
        f"{stray.model}: wanted {stray.tensor} on the GPU, {stray.seen_by} saw {stray.device}"
        for stray in strays
    ]
    return CheckResult(tuple(different), tuple(dict.fromkeys(placements)), tuple(astray))


def check_address(url: str, pictures: Sequence[Picture] | None = None) -> list[str]:
    """Return the differences of a running server's answers from those of one on the CPU.

    Args:
        url: Its host and port; it takes calls without a key.
        pictures: The pictures; a set that needs every part of the pipeline when None.
    """
    pictures = pictures or draw_all()
    with PlateClient(url) as client:
        answers = [*_ask_at_once(client, pictures), *_ask_in_turn(client, pictures)]
    reference, _ = recognize_on("cpu", pictures)
    return _compare(answers, reference, pictures)


def _compare(
    answers: Sequence[Plates], reference: Sequence[Plates], pictures: Sequence[Picture]
) -> list[str]:
    names = [picture.name for picture in pictures]
    names = [*(f"{name}, pixels" for name in names), "crop", *names]
    return [
        f"{name}: {difference}"
        for name, ours, theirs in zip(names, answers, reference, strict=True)
        for difference in differ(theirs, ours)
    ]


def draw_all() -> list[Picture]:
    """Return pictures that together need every part of the pipeline."""
    transformed = (draw_large(), draw_turned(), draw_tall())
    return [*map(render, PLATES), *read([STREET]), *transformed]


def check(device: str = "gpu") -> bool:
    """Check a server on the device, and print the results."""
    result = check_server(device)
    typer.echo(format_table(("hop", "seen by", "tensor", "where"), result.places))
    answer = "every answer is the CPU's, every tensor stayed on the GPU"
    typer.echo("\n" + ("\n".join(result.wrong) or answer))
    return not result.wrong


def main(url: str = "") -> int:
    """Run all checks; return the exit code.

    Args:
        url: Host and port of a running server to check, such as that of the gpu image. A server of
            its own is started when empty; its log tells where the tensors are.
    """
    if url:
        different = check_address(url)
        typer.echo("\n".join(different) or "every answer is the CPU's")
        return 0 if _is_fast(f"--url={url}") and not different else 1
    if not torch.cuda.is_available():
        typer.echo("gpu-check: wanted an NVIDIA GPU, got none", err=True)
        return 2
    is_right = check()
    return 0 if _is_fast("--device=gpu") and is_right else 1


def _is_fast(*options: str) -> bool:
    """Measure a server with `plates bench`; tell whether it is fast enough for a GPU."""
    plates = Path(sys.executable).with_name("plates")
    process = subprocess.run([str(plates), "bench", *BENCH, *options], check=False)
    if process.returncode:
        return False
    report = read_report(BenchReport, BENCH_OUT / "report.json")
    slow = find_slow([cell.load.throughput for cell in report.cells])
    typer.echo("\n".join(slow) or f"at least {FLOOR:g} pictures a second")
    return not slow


def find_slow(throughputs: Sequence[float]) -> tuple[str, ...]:
    """Return a sentence if the best of the throughputs is too low for a GPU."""
    best = max(throughputs, default=0.0)
    message = f"wanted at least {FLOOR:g} pictures a second from a GPU, got {best:.0f}"
    return (message,) if best < FLOOR else ()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m workshop.benchmarks.gpu_check")
    parser.add_argument("--url", default="", help="host:port of a running server to check")
    raise SystemExit(main(parser.parse_args().url))
