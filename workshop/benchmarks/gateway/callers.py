"""Many callers in one separate process: each calls again as soon as it has its answer.

`python -m workshop.benchmarks.gateway.callers` takes a `Load` as JSON on standard input and prints
an `Outcome`. It uses plain sockets, because the callers share the cores with the measured server.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import tritonclient.http

from orchestrator.client.inference import HEADER, InferenceRequest, to_input
from orchestrator.contract import MODEL

HUNG_UP = 0
"""The status that is recorded for a call without an answer."""


@dataclass(frozen=True)
class Load:
    """The load that the callers put on a server.

    Attributes:
        host: The server's address.
        port: The server's HTTP port.
        picture: The file that each call sends.
        callers: The number of callers at once.
        seconds: The measured time. It begins after 2 seconds that are not measured.
    """

    host: str
    port: int
    picture: str
    callers: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """The results of the calls that ended in the measured time.

    Attributes:
        seconds: The measured time.
        statuses: The number of calls by HTTP status.
        latencies_ms: The latencies of the answered calls, sorted.
    """

    seconds: float
    statuses: Mapping[str, int]
    latencies_ms: list[float] = field(repr=False)

    @property
    def rate(self) -> float:
        """Answered calls a second."""
        return len(self.latencies_ms) / self.seconds

    @property
    def refused_rate(self) -> float:
        """Calls a second that were not answered."""
        return (sum(self.statuses.values()) - len(self.latencies_ms)) / self.seconds

    def percentile_ms(self, share: float) -> float:
        """Return the latency that this share of the answered calls did not exceed."""
        last = len(self.latencies_ms) - 1
        return self.latencies_ms[round(share * last)] if self.latencies_ms else float("nan")


def run(load: Load) -> Outcome:
    """Run the callers in a separate process."""
    line = [sys.executable, "-m", __name__]
    done = subprocess.run(
        line, input=json.dumps(asdict(load)), stdout=subprocess.PIPE, text=True, check=True
    )
    return Outcome(**json.loads(done.stdout))


class Callers:
    """The callers of one process, and the results of their calls."""

    def __init__(self, load: Load, call: bytes) -> None:
        self._load, self._call = load, call
        self._begin = time.monotonic() + 2
        self._end = self._begin + load.seconds
        self._statuses: Counter[int] = Counter()
        self._latencies_ms: list[float] = []

    async def run(self) -> Outcome:
        await asyncio.gather(*(self._drive() for _ in range(self._load.callers)))
        statuses = {str(status): count for status, count in self._statuses.items()}
        return Outcome(self._load.seconds, statuses, sorted(self._latencies_ms))

    async def _drive(self) -> None:
        while time.monotonic() < self._end:
            try:
                reader, writer = await asyncio.open_connection(self._load.host, self._load.port)
            except OSError:
                self._note(HUNG_UP, 0)
                await asyncio.sleep(0.01)
                continue
            try:
                await self._talk(reader, writer)
            except (OSError, EOFError):
                self._note(HUNG_UP, 0)
            finally:
                writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Call over one connection until the time is up or the server closes it."""
        while time.monotonic() < self._end:
            began = time.monotonic()
            writer.write(self._call)
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").lower().split("\r\n")
            fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
            await reader.readexactly(int(fields.get("content-length", 0)))
            self._note(int(lines[0].split()[1]), time.monotonic() - began)
            if fields.get("connection") == "close":
                return

    def _note(self, status: int, seconds: float) -> None:
        if not self._begin <= time.monotonic() < self._end:
            return
        self._statuses[status] += 1
        if status == 200:
            self._latencies_ms.append(1e3 * seconds)


def make_call(picture: bytes) -> bytes:
    """Return the bytes of an infer call over HTTP, as tritonclient sends it."""
    asked = InferenceRequest(to_input(picture), ("texts",)).arguments(tritonclient.http)
    body, size = tritonclient.http.InferenceServerClient.generate_request_body(
        asked["inputs"], outputs=asked["outputs"]
    )
    lines = [
        f"POST /v2/models/{MODEL}/infer HTTP/1.1",
        "Host: localhost",
        f"Content-Length: {len(body)}",
        f"{HEADER}: {size}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + bytes(body)


def main() -> None:
    load = Load(**json.load(sys.stdin))
    call = make_call(Path(load.picture).read_bytes())
    print(json.dumps(asdict(asyncio.run(Callers(load, call).run()))))


if __name__ == "__main__":
    main()
