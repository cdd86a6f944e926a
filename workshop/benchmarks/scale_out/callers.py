"""Callers that check every answer and record the result of each call."""

from __future__ import annotations

import csv
import itertools
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.client import PlateClient
from orchestrator.errors import ModelError
from workshop.benchmarks.load import BACK_OFF_S
from workshop.benchmarks.pictures import render

SAMPLES = Path(__file__).resolve().parents[3] / "tests" / "data"
STREET = "street.jpg"


@dataclass(frozen=True)
class Known:
    """A picture's file, and the sorted texts of the plates in it."""

    name: str
    encoded: bytes
    texts: tuple[str, ...]


def known_pictures() -> tuple[Known, ...]:
    """Return a street with three plates and one without any."""
    with (SAMPLES / "labels.csv").open(newline="") as rows:
        texts = sorted(row["text"] for row in csv.DictReader(rows) if row["image"] == STREET)
    return (
        Known(STREET, (SAMPLES / STREET).read_bytes(), tuple(texts)),
        Known("a street without plates", render(0).encoded, ()),
    )


class CheckedCaller:
    """Sends one call per use and checks the answer; takes the pictures in turn."""

    def __init__(self, client: PlateClient, pictures: Sequence[Known]) -> None:
        self.client = client
        self._turn = itertools.cycle(pictures)

    def __call__(self) -> int:
        """Send the next picture; return the number of plates.

        Raises:
            PlateError: There is no answer, or a wrong one.
        """
        picture = next(self._turn)
        texts = tuple(sorted(self.client.recognize(picture.encoded).texts))
        if texts != picture.texts:
            raise ModelError(f"{picture.name}: wanted {picture.texts}, got {texts}")
        return len(texts)


@contextmanager
def connect(url: str, pictures: Sequence[Known], retries: int) -> Iterator[CheckedCaller]:
    """Open one caller's connection for the length of a `with` block."""
    with PlateClient(url, retries=retries) as client:
        yield CheckedCaller(client, pictures)


@dataclass(frozen=True)
class CheckedCall:
    """The result of a call; times are seconds of the monotonic clock.

    Attributes:
        protocol: `http` or `grpc`.
        retried: The number of retries by the client.
        failure: The error of the caller; empty when the answer is right.
    """

    protocol: str
    began: float
    ended: float
    retried: int = 0
    failure: str = ""

    @property
    def ms(self) -> float:
        return 1e3 * (self.ended - self.began)


@dataclass
class Load:
    """A closed loop of callers, with `each` callers per protocol."""

    urls: Mapping[str, str]
    each: int
    pictures: Sequence[Known]
    retries: int
    calls: list[CheckedCall] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Run the callers for the length of a `with` block, then wait for calls in progress."""
        with ThreadPoolExecutor(self.each * len(self.urls)) as pool:
            try:
                for protocol in self.urls:
                    for _ in range(self.each):
                        pool.submit(self._drive, protocol)
                yield
            finally:
                self._is_over.set()

    def _drive(self, protocol: str) -> None:
        with connect(self.urls[protocol], self.pictures, self.retries) as caller:
            while not self._is_over.is_set():
                call = _make_call(caller, protocol)
                self.calls.append(call)
                if call.failure:
                    time.sleep(BACK_OFF_S)


def _make_call(caller: CheckedCaller, protocol: str) -> CheckedCall:
    before, began, failure = caller.client.retried, time.monotonic(), ""
    try:
        caller()
    except Exception as error:  # after any error, the caller has no answer
        failure = str(error) or type(error).__name__
    return CheckedCall(protocol, began, time.monotonic(), caller.client.retried - before, failure)
