"""One soak run: from the pictures to the report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import typer

from orchestrator.errors import ServerError
from workshop.benchmarks.soak.callers import Book, Crowd
from workshop.benchmarks.soak.catalogue import Catalogue, draw, list_alone, list_good
from workshop.benchmarks.soak.diagrams import plot_samples
from workshop.benchmarks.soak.files import publish, write_samples
from workshop.benchmarks.soak.messages import Message
from workshop.benchmarks.soak.mistakes import list_bad
from workshop.benchmarks.soak.plan import Plan
from workshop.benchmarks.soak.questions import Deck, shuffle
from workshop.benchmarks.soak.report import (
    SoakReport,
    find_replacements,
    judge_latency,
    judge_samples,
)
from workshop.benchmarks.soak.samples import Sample
from workshop.benchmarks.soak.service import Service, run_service
from workshop.benchmarks.soak.text import format_report
from workshop.benchmarks.soak.wire import Ports, Send, connect
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.machine import describe_machine

TOLD_EVERY_S = 30.0
INTERRUPTED = "interrupted"


def run(plan: Plan) -> tuple[SoakReport, str]:
    """Start a service, soak it and write the report; return the report, and its text.

    Raises:
        DataError: A folder or the page to publish in cannot be used.
        ServerError: The service cannot be started, or does not answer for a single picture.
    """
    prepare_folder(plan.out)
    catalogue = draw()
    book, samples = Book(), list[Sample]()
    with run_service(plan.out / "serve.log") as service:
        deck = prepare_deck(service.ports, catalogue)
        crowd = Crowd(deck, book, plan.calls)
        ended = soak(plan, service, crowd, samples)
    report = write_up(plan, samples, book, service.left, ended)
    text = format_report(report, plan.length)
    with explain_write_errors(plan.out):
        write_report(report, plan.out / "report.json")
        write_samples(samples, plan.out / "samples.csv")
        (plan.out / "report.txt").write_text(text + "\n", encoding="utf-8")
        plot_samples(samples, plan.out / "soak.png", is_by_time=plan.minutes is not None)
    if plan.publish and not report.ended:
        publish(report, plan)
    return report, text


def prepare_deck(ports: Ports, catalogue: Catalogue) -> Deck:
    """Send each picture alone; return all questions with the answers that they must get.

    Raises:
        ServerError: A picture gets no answer.
    """
    with connect(ports) as send:
        texts = {name: ask_alone(send, name, one) for name, one in list_alone(catalogue).items()}
    good = [asked.question(texts) for asked in list_good(catalogue)]
    return shuffle(good, list_bad(catalogue.streets[0]))


def ask_alone(send: Send, name: str, message: Message) -> tuple[str, ...]:
    """Return the texts of a picture while no other call is in progress.

    Raises:
        ServerError: The picture gets no answer.
    """
    answer = send(message, 0.0)
    if answer.status != "200":
        raise ServerError(f"{name}: wanted an answer, got {answer.status} {answer.words[:200]}")
    return answer.texts


def soak(plan: Plan, service: Service, crowd: Crowd, samples: list[Sample]) -> str:
    """Run the callers and take samples; return why the run ended early, or an empty text."""
    try:
        with crowd.at_work(partial(connect, service.ports), plan.callers):
            return _watch(plan, service, crowd, samples)
    except KeyboardInterrupt:
        return INTERRUPTED


def _watch(plan: Plan, service: Service, crowd: Crowd, samples: list[Sample]) -> str:
    began, measured = time.monotonic(), service.measured
    until = began + 60 * plan.minutes if plan.minutes else float("inf")
    told, due = began, began
    while True:
        is_over = crowd.has_ended() or time.monotonic() >= until
        sample = measured.look(time.monotonic() - began, crowd.book.turn_page())
        samples.append(sample)
        if is_over:
            return ""
        if end := service.tell_end():
            return end
        if time.monotonic() - told > TOLD_EVERY_S:
            told = time.monotonic()
            typer.echo(_tell_progress(sample), err=True)
        now = time.monotonic()
        due = max(due + plan.every_s, now)  # a late sample delays the later ones
        time.sleep(due - now)


def _tell_progress(sample: Sample) -> str:
    memory_mb = sum(held.memory_mb for held in sample.roles.values())
    return (
        f"{sample.seconds:.0f} s: {sample.calls.ended:,} calls, {sample.calls.failed} wrong, "
        f"{memory_mb:,.0f} MiB"
    )


def write_up(
    plan: Plan, samples: Sequence[Sample], book: Book, left: tuple[str, ...], ended: str
) -> SoakReport:
    """Make the report of a run."""
    return SoakReport(
        machine=describe_machine(),
        callers=plan.callers,
        seconds=samples[-1].seconds,
        calls=book.add_up(),
        quantities=judge_samples(samples),
        drift=judge_latency(samples) if plan.minutes else None,
        wrong=tuple(book.wrong),
        replaced=find_replacements(samples),
        left=left,
        ended=ended,
    )
