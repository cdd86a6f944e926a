"""Tests Triton's features for a faster plate chain, each against a server without it.

    python -m workshop.benchmarks.compositions.trials cache limiter batching

The servers of a trial run side by side and are measured in turn. docs/compositions.md has the
results.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import tritonclient.http
from tritonclient.utils import InferenceServerException

from orchestrator.networks.registry import NETWORKS
from orchestrator.supervisor.installation import find_installation
from orchestrator.supervisor.local_server import on_free_ports, prepare
from orchestrator.supervisor.options import ServerOptions
from orchestrator.supervisor.triton_server import Server
from orchestrator.supervisor.triton_start import run_server
from workshop.benchmarks.compositions.measurement import measure_cell
from workshop.benchmarks.compositions.repository import edit, lay_out_plates
from workshop.benchmarks.compositions.workloads import PLATES, SMALL_WH, Form
from workshop.benchmarks.load import Round
from workshop.benchmarks.metrics import add_up, times_of
from workshop.benchmarks.pictures import Picture, render
from workshop.benchmarks.plan import HTTP_ENCODED
from workshop.benchmarks.pooling import divide_by_round, pool
from workshop.benchmarks.wire import Question, http_input
from workshop.reporting.tables import format_figure, format_markdown

SECONDS, ROUNDS, PICTURES = 0.7, 5, 4
PATIENCE_S = 10.0
FORMS = {form.name: form for form in PLATES.forms[1::-1]}
"""The forms by name: the ensemble first, then the BLS model, which may stop the server."""
Change = Callable[[str, Any], None]


@dataclass(frozen=True)
class Variant:
    """A variant of the server, with its own flags and its own change to each config.pbtxt."""

    name: str
    flags: tuple[str, ...] = ()
    change: Change = lambda name, config: None


@dataclass(frozen=True)
class Trial:
    """A test of a feature; its first variant is without it. Pictures repeat (same) or not (new)."""

    variants: tuple[Variant, ...]
    pictures: tuple[str, ...] = ("same",)
    concurrencies: tuple[int, ...] = (4, 8)


def cache(models: Sequence[str], name: str, config: Any) -> None:
    if name in models:
        config.response_cache.enable = True


def limit(models: Sequence[str], name: str, config: Any) -> None:
    """Make each instance of the models hold the only resource while it works."""
    for group in config.instance_group if name in models else ():
        group.rate_limiter.resources.add(name="cores", count=1)


def batch(delay_us: int | None, preferred: Sequence[int], name: str, config: Any) -> None:
    """Set the dynamic batching of the networks; none when there is no delay."""
    if name not in NETWORKS:
        return
    config.ClearField("scheduling_choice")
    if delay_us is not None:
        config.dynamic_batching.max_queue_delay_microseconds = delay_us
        config.dynamic_batching.preferred_batch_size.extend(preferred)


def list_trials() -> dict[str, Trial]:
    """Return every trial by its name."""
    folder = find_installation().root / "caches"
    cached = (f"--cache-directory={folder}", "--cache-config=local,size=67108864")
    limited = ("--rate-limit=execution_count", "--rate-limit-resource=cores:1")
    called = tuple(form.model for form in FORMS.values())
    everything = tuple(name for form in FORMS.values() for name in form.workers)
    return {
        "cache": Trial(
            (
                Variant("none"),
                Variant("called model", cached, partial(cache, called)),
                Variant("yolo", cached, partial(cache, ("yolo",))),
            ),
            ("same", "new"),
            (1, 4),
        ),
        "limiter": Trial(
            (
                Variant("off"),
                Variant("one network at a time", limited, partial(limit, tuple(NETWORKS))),
                Variant("one model at a time", limited, partial(limit, everything)),
            )
        ),
        "batching": Trial(
            (
                Variant("as they come"),
                Variant("none", (), partial(batch, None, ())),
                Variant("5 ms", (), partial(batch, 5000, ())),
                Variant("5 ms for 4", (), partial(batch, 5000, (4,))),
            )
        ),
    }


def try_out(trial: Trial) -> str:
    """Measure a trial and return its table."""
    with ExitStack() as stack:
        servers = {one: stack.enter_context(_serve(one)) for one in trial.variants}
        rows = [
            row
            for form in FORMS.values()
            for pictures in trial.pictures
            for concurrency in trial.concurrencies
            for row in _measure(form, pictures, concurrency, servers)
        ]
    header = ("form", "pictures", "calls", "variant", "pictures/s", "to the first", "p50 ms",
              "p99 ms", "CPU ms", "hits", "yolo together", "lprnet together")  # fmt: skip
    return format_markdown(header, rows)


def _serve(variant: Variant) -> Any:
    def lay_out(options: ServerOptions, target: Path) -> Path:
        folder = lay_out_plates(options, target)
        shutil.rmtree(folder / "plates_monolith")
        return edit(folder, variant.change)

    options = ServerOptions(device="cpu", pictures=PICTURES, flags=variant.flags)
    return run_server(on_free_ports(prepare(options)), lay_out)


def _measure(
    form: Form, pictures: str, concurrency: int, servers: dict[Variant, Server]
) -> Iterator[list[str | None]]:
    """Yield a row for each variant; each round measures every server."""
    bitmap = draw_bitmap()
    question = Question(bitmap, form.model, PLATES.outputs, is_new=pictures == "new")
    answering = [one for one, server in servers.items() if does_answer(question, server)]
    rounds: dict[Variant, list[Round]] = {one: [] for one in servers}
    for _ in range(ROUNDS):
        for one in answering:
            sample = measure_cell(form, question, concurrency, SECONDS, servers[one])
            rounds[one].append(sample.round)
    for one, measured in rounds.items():
        figures = show(form, measured, rounds[answering[0]])
        yield [form.name, pictures, f"x{concurrency}", one.name, *map(format_figure, figures)]


def show(form: Form, rounds: Sequence[Round], first: Sequence[Round]) -> list[float | None]:
    """Return the figures of a row; they are None when no call was answered."""
    if not rounds:
        return [None] * 8
    load, counted = pool(rounds), add_up(one.counters for one in rounds)
    called = counted[f"{form.model} request_success"]
    hits = sum(value for key, value in counted.items() if key.endswith("num_hits_per_model"))
    models = [times_of(name, counted, called) for name in ("yolo", "lprnet")]
    together = [None if hits else model.batch for model in models]
    ratio = divide_by_round(load, pool(first), lambda one: one.throughput)
    times = (load.p50_ms, load.p99_ms, load.cpu_ms.server)
    return [load.throughput, ratio, *times, hits / called, *together]


def draw_bitmap() -> Picture:
    """Return a small street as a BMP file. Its last bytes are one pixel, which calls may change."""
    picture = render(2, SMALL_WH, "small")
    return replace(picture, encoded=cv2.imencode(".bmp", picture.bgr)[1].tobytes())


def does_answer(question: Question, server: Server) -> bool:
    """Tell whether a call gets an answer at all."""
    url = server.options.http_url
    with tritonclient.http.InferenceServerClient(url, network_timeout=PATIENCE_S) as client:
        try:
            client.infer(question.model, [http_input(HTTP_ENCODED, question.picture)])
        except (InferenceServerException, OSError) as error:
            print(f"{question.model}: {error or type(error).__name__}", file=sys.stderr)
            return False
    return True


def main(names: Sequence[str]) -> None:
    trials = list_trials()
    for name in names or trials:
        print(f"### {name}\n\n{try_out(trials[name])}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
