"""The gateway's metrics for Prometheus. Every label comes from a small set.

If the gateway has several processes, `PROMETHEUS_MULTIPROC_DIR` names a folder of theirs. Each
process then reports the sums over all processes.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from orchestrator.contract import DECODE, DETECTOR, MODEL, PLATE_READER, PREPARE, READER, RECTIFIER
from orchestrator.errors import PlateError
from orchestrator.serving.gateway.errors import ANSWERED
from orchestrator.serving.gateway.ops.audit import CallEntry
from orchestrator.serving.gateway.policy.admission import Counts
from orchestrator.serving.gateway.policy.clients import KEY_PREFIX
from orchestrator.triton import shared_metrics

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
PREFIX = "plates_gateway_"
PROTOCOLS = ("kserve-http", "kserve-grpc", "rest")
MODELS = (MODEL, PLATE_READER)
OTHER = "other"
OUR_MODELS = (MODEL, DETECTOR, RECTIFIER, READER, PREPARE, DECODE)
ENDS = ("SIGKILL", "SIGSEGV", "SIGABRT", "hung", "stopped")
"""Usual reasons why workers end. Other reasons get a label at their first time."""
MAX_KEYS = 1000
"""Most key names that are counted separately. Further keys are counted as `other`."""
SECONDS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2, 5, 10, 30)
GAUGES = {
    "inside": ("inside", "Calls that were let in."),
    "waiting": ("waiting", "Calls that wait for their turn."),
    "in_work": ("in_work", "Calls that Triton has."),
    "delayed_rejections": ("held", "Rejected calls whose rejection is still delayed."),
    "bytes": ("memory_bytes", "Bodies of all calls inside together."),
    "picture_bytes": ("picture_bytes", "Memory that the calls in work take at most."),
}
"""Gauges by the field of `Counts` that they show: name and description of each."""
OURS = re.compile(rb"(#\s*(HELP|TYPE)\s+)?" + PREFIX.encode())
KEY_ENDS = PREFIX.encode() + b"key_expires_in_seconds"
NAMED = re.compile(rb'[{,]key="')


class Metrics:
    """The metrics of the gateway, and the outcome of each call in them.

    Attributes:
        connections: Connections that are open now; the server sets it.
        dropped_connections: Connections closed to make room for others, or for sending no request.
        retries: Calls that were sent to Triton again; the server increases it.
        lost_audit_lines: Lines of the audit log that could not be written.
        keys_broken: The file of keys was deleted or damaged.
    """

    def __init__(self, counts: Callable[[], Counts]) -> None:
        """Create every metric in a separate registry.

        Args:
            counts: Returns the numbers of calls in each state now.
        """
        disable_created_metrics()  # type: ignore[no-untyped-call]  # process-wide; only we count
        folder = os.environ.get(shared_metrics.VARIABLE)
        self._folder = Path(folder) if folder else None
        if self._folder:
            shared_metrics.use(self._folder)
        self._counts, self._keys, self._ending = counts, set[str](), set[str]()
        self._registry = CollectorRegistry()
        self._reasons = tuple(sorted({ANSWERED.reason, *_reasons_of(PlateError)}))
        self._calls = self._counter("calls", "Calls that ended.", "front", "model", "reason")
        self._by_key = self._counter("calls_by_key", "Calls that came with a key.", "key", "reason")
        self._plates = self._counter("plates", "Plates found.")
        self._bytes = self._counter("body_bytes", "Bodies of calls, as announced.")
        self._seconds = Histogram(
            f"{PREFIX}call_seconds",
            "Time of an answered call, from its headers to the end of its answer.",
            ["front"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._gauges = {name: self._gauge(*texts) for name, texts in GAUGES.items()}
        self.connections = self._gauge("connections", "Open connections.")
        self.dropped_connections = self._counter(
            "connections_dropped", "Connections closed for others, or for sending no request."
        )
        self.retries = self._counter(
            "repeated", "Calls sent again because Triton, or a worker of it, was away."
        )
        self._deaths = self._counter(
            "worker_deaths", "Workers of Triton that died or hung.", "model", "how"
        )
        self.lost_audit_lines = self._counter(
            "audit_lost", "Audit lines that could not be written."
        )
        self.keys_broken = self._gauge("keys_broken", "1 where the file of keys cannot be read.")
        self._certificate = self._soonest(
            "certificate_expires_in_seconds", "Seconds until the TLS certificate expires.", "file"
        )
        self._key_ends = self._soonest(
            "key_expires_in_seconds", "Seconds until a key expires; +Inf: no more.", "key"
        )
        self._begin()

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(PREFIX + name, description, labels, registry=self._registry)

    def _gauge(self, name: str, description: str) -> Gauge:
        return Gauge(
            PREFIX + name, description, registry=self._registry, multiprocess_mode="livesum"
        )

    def _soonest(self, name: str, description: str, label: str) -> Gauge:
        """Return a gauge that is alike in all processes, up to the moment of their look."""
        return Gauge(
            PREFIX + name,
            description,
            [label],
            registry=self._registry,
            multiprocess_mode="livemin",
        )

    def _begin(self) -> None:
        """Create the labels at the start, so that a rate includes the first call."""
        for protocol in PROTOCOLS:
            self._seconds.labels(protocol)
            for model in (*MODELS, OTHER):
                for reason in self._reasons:
                    self._calls.labels(protocol, model, reason)
        for model in OUR_MODELS:
            for end in ENDS:
                self._deaths.labels(model, end)

    def note(self, protocol: str, entry: CallEntry) -> None:
        """Count a call that ended.

        Args:
            protocol: Protocol of the call, one of `PROTOCOLS`.
            entry: The call's entry in the audit log.
        """
        protocol = protocol if protocol in PROTOCOLS else OTHER
        reason = entry.reason if entry.reason in self._reasons else OTHER
        model = entry.model if entry.model in MODELS else OTHER
        self._calls.labels(protocol, model, reason).inc()
        if entry.client.startswith(KEY_PREFIX):
            self._by_key.labels(self._key_of(entry.client), reason).inc()
        self._plates.inc(entry.plates)
        self._bytes.inc(entry.bytes)
        if reason == ANSWERED.reason:
            self._seconds.labels(protocol).observe(entry.ms / 1000)

    def note_death(self, model: str, reason: str) -> None:
        """Count a worker that died, by its model and its signal, exit status or hang."""
        self._deaths.labels(model, reason.split(" ", maxsplit=1)[0]).inc()

    def note_certificate(self, file: str, within_s: float) -> None:
        """Tell in how many seconds the certificate of a file expires."""
        self._certificate.labels(file).set(within_s)

    def note_key_ends(self, within_s: Mapping[str, float]) -> None:
        """Tell in how many seconds keys expire, by their names.

        A key that is gone, or expires no more, stays as a label: prometheus_client cannot take
        one back where there are several processes.
        """
        shown_ends = dict(itertools.islice(within_s.items(), MAX_KEYS))
        for name in self._ending - shown_ends.keys():
            self._key_ends.labels(name).set(math.inf)
        for name, seconds in shown_ends.items():
            self._key_ends.labels(name).set(seconds)
        self._ending |= shown_ends.keys()

    def _key_of(self, client: str) -> str:
        name = client.removeprefix(KEY_PREFIX)
        if len(self._keys) < MAX_KEYS:
            self._keys.add(name)
        return name if name in self._keys else OTHER

    def refresh(self) -> None:
        """Update the gauges. If there are several processes, each does so every second."""
        counts = self._counts()
        for name, gauge in self._gauges.items():
            gauge.set(getattr(counts, name))

    def render(self) -> bytes:
        """Return the page for Prometheus, with content type `CONTENT_TYPE`."""
        self.refresh()
        if self._folder:
            return shared_metrics.render(self._folder)
        return generate_latest(self._registry)


def without_names(page: bytes) -> bytes:
    """Return a page without the lines that name keys.

    The earliest expiry of all keys is kept, without the key's name, so that alerts work.
    """
    lines = page.splitlines(keepends=True)
    ends = [float(line.split()[-1]) for line in lines if line.startswith(KEY_ENDS + b"{")]
    public_lines = []
    for line in lines:
        if not NAMED.search(line):
            public_lines.append(line)
        elif ends and line.startswith(KEY_ENDS):
            public_lines.append(b'%b{key=""} %r\n' % (KEY_ENDS, min(ends)))
            ends = []
    return b"".join(public_lines)


def _reasons_of(kind: type[PlateError]) -> Iterator[str]:
    """Yield the reasons of a class of errors and its subclasses."""
    yield kind.reason
    for subclass in kind.__subclasses__():
        yield from _reasons_of(subclass)


def join(ours: bytes, tritons: bytes) -> bytes:
    """Append Triton's page to ours, without metrics of Triton that have our names."""
    lines = [line for line in tritons.splitlines() if not OURS.match(line)]
    return ours + b"".join(line + b"\n" for line in lines)
