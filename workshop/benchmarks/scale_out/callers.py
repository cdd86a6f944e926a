"""Callers with the client of the project. They check every answer."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from orchestrator.client import PlateClient
from workshop.benchmarks.load.closed_loop import FAILED, Load, Outcome, Send
from workshop.benchmarks.load.connections import ANSWERED
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


@contextmanager
def connect(url: str, pictures: Sequence[Known], retries: int) -> Iterator[Send]:
    """Open one caller's connection. It sends the pictures in turn and checks every answer."""
    with PlateClient(url, retries=retries) as client:

        def send(number: int) -> Outcome:
            picture, before = pictures[number % len(pictures)], client.retried
            try:
                texts = tuple(sorted(client.recognize(picture.encoded).texts))
            except Exception as error:  # after any error, the caller has no answer
                told = str(error) or type(error).__name__
                return Outcome(FAILED, error=told, retries=client.retried - before)
            is_wrong = texts != picture.texts
            told = f"{picture.name}: wanted {picture.texts}, got {texts}" if is_wrong else ""
            return Outcome(ANSWERED, is_wrong, told, client.retried - before, len(texts))

        yield send


def open_load(urls: Mapping[str, str], each: int, pictures: Sequence[Known], retries: int) -> Load:
    """Return a load with `each` callers for the URL of each protocol."""
    return Load(
        {name: partial(connect, url, pictures, retries) for name, url in urls.items()}, each
    )
