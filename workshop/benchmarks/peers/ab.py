"""The second load generator: ApacheBench (`ab`), which none of the compared projects wrote."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from orchestrator.errors import ServerError
from workshop.benchmarks.load.requests import HttpRequest
from workshop.benchmarks.load.rounds import LOOK_S, Cpu, Round

PROGRAM = "ab"
BODY = "body"
CALL_TIMEOUT_S = 60
FIRST_TURNS, MIN_TURNS = 2, 4
"""Calls of each caller: in the short run before, and at least in the measured one."""
VERSION = re.compile(r"Version (\S+)")
FIGURES = {
    "seconds": r"Time taken for tests:\s+([\d.]+)",
    "failed": r"Failed requests:\s+(\d+)",
    "refused": r"Non-2xx responses:\s+(\d+)",
}
"""The lines of the output that are read; ab leaves the last one out when there are none."""


def find_version() -> str:
    """Return the version of the installed ab; empty when it is not installed."""
    if not shutil.which(PROGRAM):
        return ""
    shown = subprocess.run([PROGRAM, "-V"], capture_output=True, text=True, check=False).stdout
    found = VERSION.search(shown)
    return found[1] if found else "unknown"


def measure(
    address: str,
    request: HttpRequest,
    concurrency: int,
    seconds: float,
    *,
    usage: Callable[[], Cpu] = Cpu,
    look: Callable[[], object] = lambda: None,
) -> Round:
    """Measure a server with ab, which opens a connection for every call.

    ab counts no call that is in work when its time is over, which is too few of slow calls. So it
    gets a number of calls instead, and a short run before tells how many fit the time.

    Args:
        address: host:port of the server.
        request: The request to send again and again.
        concurrency: The number of calls at once.
        seconds: The length of the load, at least; see `MIN_TURNS`.
        usage: Reads the CPU seconds so far; called before and after.
        look: Called every `LOOK_S` meanwhile.

    Raises:
        ServerError: ab has no result.
    """
    with tempfile.TemporaryDirectory(prefix="plates-ab-") as name:
        folder = Path(name)
        (folder / BODY).write_bytes(request.body)
        target = [*_list_headers(request), f"http://{address}{request.path}"]
        first = _run(folder, FIRST_TURNS * concurrency, concurrency, target, look)
        calls = max(MIN_TURNS * concurrency, round(seconds * first.throughput))
        before = usage()
        measured = _run(folder, calls, concurrency, target, look)
        return replace(measured, cpu_s=usage().minus(before))


def _run(
    folder: Path, calls: int, concurrency: int, target: list[str], look: Callable[[], object]
) -> Round:
    """Run ab once in a folder that has the body of the request."""
    times = folder / "times"
    times.unlink(missing_ok=True)
    flags = ["-q", "-l", f"-n{calls}", f"-c{concurrency}", f"-s{CALL_TIMEOUT_S}"]
    output = _watch([PROGRAM, *flags, "-p", str(folder / BODY), "-g", str(times), *target], look)
    if not times.exists():
        raise ServerError(f"ab: wanted a result, got {output.strip()[-200:]}")
    return read_round(output, times.read_text())


def _list_headers(request: HttpRequest) -> list[str]:
    """Return the flags for the headers; ab sets the content type by a flag of its own."""
    found = []
    for name, value in request.headers.items():
        is_type = name.lower() == "content-type"
        found += ["-T", value] if is_type else ["-H", f"{name}: {value}"]
    return found


def _watch(line: list[str], look: Callable[[], object]) -> str:
    """Run a program to its end; return what it printed."""
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen(line, stdout=output, stderr=output) as process:
            while process.poll() is None:
                look()
                try:
                    process.wait(LOOK_S)
                except subprocess.TimeoutExpired:
                    continue
        output.seek(0)
        return output.read()


def read_round(output: str, times: str) -> Round:
    """Return the figures of one run of ab.

    Args:
        output: The text that it printed.
        times: The table that it wrote, a row for each call; `ttime` is the latency in ms.
    """
    found = {name: re.search(pattern, output) for name, pattern in FIGURES.items()}
    figures = {name: float(match[1]) if match else 0.0 for name, match in found.items()}
    rows = csv.DictReader(times.splitlines(), delimiter="\t")
    errors = int(figures["failed"] + figures["refused"])
    return Round(
        seconds=figures["seconds"],
        latencies_ms=tuple(float(row["ttime"]) for row in rows),
        errors=errors,
        unanswered=errors,
        first_error=f"ab counted {errors} failed calls" if errors else "",
    )
