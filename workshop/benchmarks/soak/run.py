"""One soak run: from the pictures to the report."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from orchestrator.errors import ServerError
from workshop.benchmarks.bench.plan import Address
from workshop.benchmarks.load.closed_loop import Load, send_by
from workshop.benchmarks.load.connections import ANSWERED, Connection, read_texts
from workshop.benchmarks.load.requests import Request
from workshop.benchmarks.service import Launch, Service
from workshop.benchmarks.soak.callers import Record, RequestMix, shuffle
from workshop.benchmarks.soak.command import Plan
from workshop.benchmarks.soak.report import SoakReport, format_report, judge_latency, judge_samples
from workshop.benchmarks.soak.request_kinds import (
    SentPictures,
    draw,
    list_alone,
    list_bad,
    list_good,
)
from workshop.benchmarks.soak.samples import (
    MeasuredService,
    Sample,
    find_replaced,
    plot_samples,
    tabulate,
)
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.machine import describe_machine

PROGRESS_EVERY_S = 30.0
INTERRUPTED = "interrupted"


def run(plan: Plan) -> tuple[SoakReport, str]:
    """Start a service, soak it and write the report; return the report, and its text."""
    plan.check()
    prepare_folder(plan.out)
    pictures, samples = draw(), list[Sample]()
    with TemporaryDirectory(prefix="plates-soak-") as folder:
        flags, log = (f"--pictures={plan.pictures}",), plan.out / "serve.log"
        service = Service(Path(folder, "service"), Launch(flags=flags, log=log))
        try:
            service.start()
            service.wait_until_ready()
            record = Record(prepare_requests(service.gateway, pictures))
            end_reason = soak(plan, service, record, samples)
        finally:
            status = service.stop()
            leftovers = tuple(list_leftovers(service, status))
            service.remove_regions()
    report = write_up(plan, samples, record, leftovers, end_reason)
    text = format_report(report, plan.length)
    with explain_write_errors(plan.out):
        write_report(report, plan.out / "report.json")
        table = tabulate(samples)
        table.to_csv(plan.out / "samples.csv", index=False)
        (plan.out / "report.txt").write_text(text + "\n", encoding="utf-8")
        plot_samples(table, plan.out / "soak.png", is_by_time=plan.minutes is not None)
    return report, text


def list_leftovers(service: Service, status: int | None) -> Iterator[str]:
    """Yield a sentence for each kind of file or error that a service left at its end."""
    if status:
        yield f"plates serve: wanted exit status 0, got {status}"
    if regions := service.list_regions():
        yield f"{len(regions)} files in /dev/shm"
    if files := sorted(file.name for file in service.tmp.iterdir()):
        yield f"in the temporary folder: {', '.join(files)}"


def prepare_requests(gateway: Address, pictures: SentPictures) -> RequestMix:
    """Send each picture alone; return all requests with the answers that they must get."""
    alone = list_alone(pictures)
    with closing(Connection(gateway.http)) as connection:
        texts = {name: send_alone(connection, name, request) for name, request in alone.items()}
    return shuffle([*list_good(pictures, texts)], list_bad(pictures.streets[0]))


def send_alone(connection: Connection, name: str, request: Request) -> tuple[str, ...]:
    """Return the texts of a picture while no other call is in progress."""
    reply = connection.send(request)
    if reply.status != ANSWERED:
        raise ServerError(f"{name}: wanted an answer, got {reply.status} {reply.error}")
    return read_texts(request, reply)


def soak(plan: Plan, service: Service, record: Record, samples: list[Sample]) -> str:
    """Run the callers and take samples; return why the run ended early, or an empty text."""
    gateway = service.gateway
    callers = {"": send_by(partial(Connection, gateway.http, gateway.grpc), record.mix.send)}
    load = Load(callers, plan.callers, plan.most_calls, record=record.add)
    try:
        with load.run():
            end_reason = _watch(plan, service, load, record, samples)
    except KeyboardInterrupt:
        return INTERRUPTED
    load.wait()  # raises any unexpected error of a caller
    return end_reason


def _watch(plan: Plan, service: Service, load: Load, record: Record, samples: list[Sample]) -> str:
    began, measured_service = time.monotonic(), MeasuredService(service.pid, service.tmp)
    until = began + 60 * plan.minutes if plan.minutes else float("inf")
    progress_s, due = began, began
    while True:
        is_over = load.has_ended() or bool(load.errors()) or time.monotonic() >= until
        sample = measured_service.look(time.monotonic() - began, record.sample())
        samples.append(sample)
        if is_over:
            return ""
        if not service.is_running():
            return "plates serve ended"
        if time.monotonic() - progress_s > PROGRESS_EVERY_S:
            progress_s = time.monotonic()
            typer.echo(_format_progress(sample), err=True)
        now = time.monotonic()
        due = max(due + plan.every_s, now)  # a late sample delays the later ones
        time.sleep(due - now)


def _format_progress(sample: Sample) -> str:
    memory_mb = sum(resources.memory_mb for resources in sample.roles.values())
    return (
        f"{sample.seconds:.0f} s: {sample.calls.total:,} calls, {sample.calls.failed} wrong, "
        f"{memory_mb:,.0f} MiB"
    )


def write_up(
    plan: Plan,
    samples: Sequence[Sample],
    record: Record,
    leftovers: tuple[str, ...],
    end_reason: str,
) -> SoakReport:
    """Make the report of a run."""
    table = tabulate(samples)
    return SoakReport(
        machine=describe_machine(),
        callers=plan.callers,
        seconds=samples[-1].seconds,
        calls=record.add_up(),
        quantities=judge_samples(table),
        drift=judge_latency(table) if plan.minutes else None,
        wrong=tuple(record.wrong),
        replaced=tuple(find_replaced(samples)),
        left=leftovers,
        ended=end_reason,
    )
