"""The same chain as BLS model, as ensemble and as monolith, under the same load.

    python -m benchmarks.forms --plates 0,1,4,20 --concurrency 1,4 --seconds 2 --rounds 3

One server has all three forms, so idle ones cost nothing; BLS model and ensemble share its `yolo`,
`stn` and `lprnet`. The rendered pictures of `plates bench` travel as JPEG files over HTTP. Cells
that are compared are measured one after the other, in another order each round. First every form
must give the same answer to every picture.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import calls
from benchmarks.load import closed_loop
from benchmarks.pictures import Picture, rendered
from benchmarks.processes import cpu_s, tree
from benchmarks.report import figure, numbers, write
from benchmarks.rivals import BLS, MODELS, WORKERS, running
from evaluation.tables import aligned
from orchestrator.errors import ModelError, PlateError
from orchestrator.networks.engines import Engine
from orchestrator.server.process import Server

PROC = Path("/proc")
MB = 1e6


class Cell(NamedTuple):
    """What is measured in one go."""

    form: str
    plates: int
    concurrency: int


@dataclass(frozen=True)
class Sample:
    """What one round saw of a cell.

    Attributes:
        throughput: Pictures a second.
        latencies_ms: Of the calls.
        cpu_ms: CPU time of the whole server for each call.
    """

    throughput: float
    latencies_ms: tuple[float, ...]
    cpu_ms: float


@dataclass(frozen=True)
class Workers:
    """The processes of a form, without those of the networks that forms share.

    Attributes:
        processes: How many.
        memory_bytes: Of all of them; a page that several have counts once (PSS).
    """

    processes: int
    memory_bytes: int


Samples = dict[Cell, list[Sample]]


def check(pictures: Mapping[int, Picture], address: str) -> None:
    """See that the forms give the same answers.

    Raises:
        ModelError: One of them differs from the BLS model.
    """
    for picture in pictures.values():
        answers = {form: calls.answer(form, picture, address) for form in MODELS}
        for form, got in answers.items():
            if unlike := calls.difference(answers[BLS], got):
                raise ModelError(f"{form}, {picture.name}: {unlike}")


def sample(cell: Cell, picture: Picture, server: Server, seconds: float) -> Sample:
    """Measure a cell once.

    Raises:
        ModelError: A call failed.
    """
    processes = tree(server.process.pid)
    loop = closed_loop(
        lambda: calls.connected(cell.form, picture, server.options.http_url),
        cell.concurrency,
        seconds,
        usage=lambda: {"cpu_s": cpu_s(processes)},
    )
    if loop.errors or not loop.latencies_ms:
        raise ModelError(f"{cell.form}: wanted answers, got {loop.first_error or 'none'}")
    cpu_ms = 1e3 * loop.used["cpu_s"] / len(loop.latencies_ms)
    return Sample(loop.throughput, tuple(loop.latencies_ms), cpu_ms)


def measure(
    cells: Sequence[Cell],
    pictures: Mapping[int, Picture],
    server: Server,
    *,
    seconds: float,
    rounds: int,
) -> Samples:
    """Measure all cells, round by round; the forms of one picture next to one another."""
    blocks = list(dict.fromkeys((cell.plates, cell.concurrency) for cell in cells))
    samples: Samples = {cell: [] for cell in cells}
    for round_ in range(rounds):
        rng = random.Random(round_)
        for plates, concurrency in rng.sample(blocks, len(blocks)):
            for form in rng.sample(list(MODELS), len(MODELS)):
                cell = Cell(form, plates, concurrency)
                samples[cell].append(sample(cell, pictures[plates], server, seconds))
        print(f"round {round_ + 1} of {rounds} done", file=sys.stderr)
    return samples


def figures(samples: Samples) -> list[dict[str, Any]]:
    """Return a row for each cell, with its ratios to the BLS model, round against round."""
    return [_row(cell, many, samples[cell._replace(form=BLS)]) for cell, many in samples.items()]


def _row(cell: Cell, many: Sequence[Sample], bls: Sequence[Sample]) -> dict[str, Any]:
    latencies = [ms for one in many for ms in one.latencies_ms]
    ratios = {
        "throughput": [a.throughput / b.throughput for a, b in zip(many, bls, strict=True)],
        "p50": [
            statistics.median(a.latencies_ms) / statistics.median(b.latencies_ms)
            for a, b in zip(many, bls, strict=True)
        ],
        "cpu": [a.cpu_ms / b.cpu_ms for a, b in zip(many, bls, strict=True)],
    }
    return {
        **cell._asdict(),
        "calls": len(latencies),
        "throughput": statistics.median(one.throughput for one in many),
        "throughput_by_round": [one.throughput for one in many],
        "p50_ms": float(np.percentile(latencies, 50)),
        "p99_ms": float(np.percentile(latencies, 99)),
        "cpu_ms": statistics.median(one.cpu_ms for one in many),
        "to_bls": {name: statistics.median(values) for name, values in ratios.items()},
        "to_bls_by_round": ratios,
    }


def workers(server: Server) -> dict[str, Workers]:
    """Return what each form's own processes and those of the networks need."""
    of_model: dict[str, set[int]] = {}
    for pid in tree(server.process.pid):
        words = (PROC / str(pid) / "cmdline").read_bytes().decode().split("\0")
        for word in words:  # one is the name of the instance, as in `crop_0_1`
            of_model.setdefault(word.rsplit("_", 2)[0], set()).add(pid)
    groups = {**WORKERS, "networks": ("yolo", "stn", "lprnet")}
    return {name: _workers(of_model, models) for name, models in groups.items()}


def _workers(of_model: Mapping[str, set[int]], models: Sequence[str]) -> Workers:
    pids = frozenset[int]().union(*(of_model.get(model, set()) for model in models))
    return Workers(len(pids), sum(map(_pss_bytes, pids)))


def _pss_bytes(pid: int) -> int:
    rows = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    return 1024 * next(int(row.split()[1]) for row in rows if row.startswith("Pss:"))


def text_of(rows: Sequence[Mapping[str, Any]], memory: Mapping[str, Workers]) -> str:
    """Return the tables."""
    header = (
        "plates", "", "form", "pictures/s", "p50 ms", "p99 ms", "CPU ms",
        "pictures/s to BLS", "p50 to BLS", "CPU to BLS",
    )  # fmt: skip
    lines = [
        (
            str(row["plates"]),
            f"x{row['concurrency']}",
            row["form"],
            *(figure(row[name]) for name in ("throughput", "p50_ms", "p99_ms", "cpu_ms")),
            *(figure(row["to_bls"][name]) for name in ("throughput", "p50", "cpu")),
        )
        for row in sorted(rows, key=lambda row: (row["plates"], row["concurrency"]))
    ]
    processes = [
        (name, str(one.processes), figure(one.memory_bytes / MB)) for name, one in memory.items()
    ]
    return "\n\n".join(
        [aligned([header, *lines]), aligned([("own processes", "", "PSS MB"), *processes])]
    )


def run(arguments: argparse.Namespace) -> None:
    """Measure and write `forms.json`."""
    pictures = {count: rendered(count) for count in arguments.plates}
    blocks = [(n, at_once) for n in arguments.plates for at_once in arguments.concurrency]
    cells = [Cell(form, *block) for block in blocks for form in MODELS]
    timing = {"seconds": arguments.seconds, "rounds": arguments.rounds}
    with running(Engine(arguments.engine), pictures=arguments.pictures) as server:
        check(pictures, server.options.http_url)
        rows = figures(measure(cells, pictures, server, **timing))
        memory = workers(server)
        engine, capacity = server.options.choose_engine().value, server.options.capacity()
    print(f"{engine}, {capacity}\n\n{text_of(rows, memory)}")
    report = {
        "engine": engine,
        "capacity": asdict(capacity) if capacity else None,
        **timing,
        "cells": rows,
        "workers": {name: asdict(one) for name, one in memory.items()},
    }
    write(arguments.out / "forms.json", report)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forms")
    parser.add_argument("--plates", type=numbers, default=(0, 1, 4, 20), help="of each picture")
    parser.add_argument("--concurrency", type=numbers, default=(1, 4), help="calls at once")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each cell in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", choices=[one.value for one in Engine], default="auto")
    parser.add_argument("--pictures", type=int, default=0, help="in work at once, of each form")
    parser.add_argument("--out", type=Path, default=Path("bench"), help="folder of forms.json")
    try:
        run(parser.parse_args())
    except PlateError as error:
        raise SystemExit(f"forms: {error}") from error


if __name__ == "__main__":
    main()
