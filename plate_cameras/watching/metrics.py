"""Metrics of cameras and sinks for Prometheus, and their server."""

from __future__ import annotations

import hmac
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, Metric, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)

from orchestrator.errors import SettingsError
from plate_cameras.background_tasks import TaskStatus
from plate_cameras.gates.status import BOUNDS_S, GateStatus
from plate_cameras.sinks.sink_status import SinkStatus
from plate_cameras.store.finding.inside import SiteCounts
from plate_cameras.store.store_parts import StorageStatus
from plate_cameras.watching.status import CameraStatus

PREFIX = "plates_camera_"
COUNTERS = {
    "frames": "Frames that the service has answered.",
    "plates": "Plates in these frames.",
    "passes": "Passes that are closed.",
    "dropped": "Frames that were not sent because newer ones were there.",
    "reconnects": "How often the stream was opened again.",
    "rejected": "Frames that can never be read.",
    "decoder_deaths": "Ends of its decoder process that the camera may have caused.",
}
"""Counters by the field of `CameraStatus`."""
GAUGES = {
    "dropped_share": "Share of frames that were not sent.",
    "delay_s": "Age of the newest frame, seconds.",
}
SINK_COUNTERS = {
    "delivered": "Events that the receiver has accepted.",
    "failed_attempts": "Attempts to deliver that failed.",
    "abandoned": "Events that were given up.",
}


@dataclass(frozen=True)
class Snapshot:
    """The state of everything at one moment."""

    cameras: Sequence[CameraStatus]
    sinks: Sequence[SinkStatus] = field(default=())
    events_waiting: int = 0
    spooled_bytes: int = 0
    spool_dropped: int = 0
    gates: Sequence[GateStatus] = field(default=())
    leases_lost: int = 0
    events_rejected: int = 0
    storage: StorageStatus | None = None
    tasks: Sequence[TaskStatus] = field(default=())
    lines_lost: int = 0
    sites: Mapping[str, SiteCounts] = field(default_factory=dict)


class SnapshotCollector:
    """Gives Prometheus the state at the moment of the scrape."""

    def __init__(self, take: Callable[[], Snapshot]) -> None:
        self._take = take

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        snapshot = self._take()
        yield from _describe_cameras(snapshot.cameras)
        yield from _describe_sinks(snapshot.sinks)
        yield from _describe_events(snapshot)
        yield from _describe_gates(snapshot.gates)
        yield from _describe_tasks(snapshot.tasks)
        yield from _describe_sites(snapshot.sites)
        if snapshot.storage:
            yield from _describe_storage(snapshot.storage)


def _describe_cameras(cameras: Sequence[CameraStatus]) -> Iterator[Metric]:
    for name, text in COUNTERS.items():
        yield _count(PREFIX + name, text, "camera", cameras, name)
    for name, text in GAUGES.items():
        values = {camera.name: getattr(camera, name) for camera in cameras}
        yield _gauge(PREFIX + name, text, values, "camera")
    up = {camera.name: float(camera.is_up) for camera in cameras}
    yield _gauge(f"{PREFIX}up", "1 if the stream plays, or is off by its schedule.", up, "camera")
    up = {camera.name: float(camera.is_service_up) for camera in cameras}
    yield _gauge(f"{PREFIX}service_up", "1 if the service answered the last frame.", up, "camera")
    text = "Cameras that this watcher follows."
    yield GaugeMetricFamily("plates_watcher_cameras", text, len(cameras))


def _describe_sinks(sinks: Sequence[SinkStatus]) -> Iterator[Metric]:
    for name, text in SINK_COUNTERS.items():
        yield _count(f"plates_sink_{name}", text, "sink", sinks, name)
    text = "1 if the receiver wants no more events."
    values = {sink.name: float(sink.is_disabled) for sink in sinks}
    yield _gauge("plates_sink_disabled", text, values, "sink")
    text = "Events that the receiver has not accepted yet."
    values = {sink.name: float(sink.waiting) for sink in sinks}
    yield _gauge("plates_sink_waiting", text, values, "sink")
    text = "1 while deliveries fail, by the reason of the last failure."
    failing = GaugeMetricFamily("plates_sink_failing", text, labels=["sink", "reason"])
    for sink in sinks:
        failing.add_metric([sink.name, sink.failure], float(bool(sink.failure)))
    yield failing


def _describe_events(snapshot: Snapshot) -> Iterator[Metric]:
    text = "Events that are not in the store yet."
    yield GaugeMetricFamily("plates_events_waiting", text, snapshot.events_waiting)
    text = "Leases of cameras that another watcher has taken."
    yield CounterMetricFamily("plates_leases_lost", text, snapshot.leases_lost)
    text = "Events that were not stored, because another watcher had the camera."
    yield CounterMetricFamily("plates_lease_events_rejected", text, snapshot.events_rejected)
    text = "Events that a full spool has deleted."
    yield CounterMetricFamily("plates_spool_dropped", text, snapshot.spool_dropped)
    text = "Bytes of events that wait for the database."
    yield GaugeMetricFamily("plates_spool_bytes", text, snapshot.spooled_bytes)
    text = "Lines that could not be printed, because a disk was full or nobody read them."
    yield CounterMetricFamily("plates_watch_lines_lost", text, snapshot.lines_lost)


def _describe_sites(sites: Mapping[str, SiteCounts]) -> Iterator[Metric]:
    inside = {name: float(counts.inside) for name, counts in sites.items()}
    yield _gauge("plates_site_vehicles", "Vehicles that are inside.", inside, "site")
    overstays = {name: float(counts.overstays) for name, counts in sites.items()}
    yield _gauge("plates_site_overstays", "Those that stay too long.", overstays, "site")


def _describe_tasks(tasks: Sequence[TaskStatus]) -> Iterator[Metric]:
    text = "Failures of a task. It is started again."
    failures = CounterMetricFamily("plates_watch_task_failures", text, labels=["task"])
    for task in tasks:
        failures.add_metric([task.name], task.failures)
    yield failures
    text = "1 if the task runs, or has done its work."
    up = {task.name: float(task.is_up) for task in tasks}
    yield _gauge("plates_watch_task_up", text, up, "task")


def _describe_storage(storage: StorageStatus) -> Iterator[Metric]:
    text = "1 if the database answered the last time."
    yield GaugeMetricFamily("plates_database_up", text, float(storage.is_database_up))
    text = "Bytes of events that may wait for the database."
    yield GaugeMetricFamily("plates_spool_limit_bytes", text, storage.spool_limit_bytes)
    text = "Events that the database does not accept, which were put aside."
    yield CounterMetricFamily("plates_spool_rejected", text, storage.rejected)
    text = "Seconds that the wall clock is ahead of the store's clock, which nobody sets."
    yield GaugeMetricFamily("plates_store_clock_ahead_seconds", text, storage.clock_ahead_s)
    free = {name: float(disk.free_bytes) for name, disk in storage.disks.items()}
    size = {name: float(disk.size_bytes) for name, disk in storage.disks.items()}
    text = "Bytes that are left on the disk, by what lies on it."
    yield _gauge("plates_disk_free_bytes", text, free, "place")
    yield _gauge("plates_disk_size_bytes", "Bytes of the disk, by what lies on it.", size, "place")


def _count(
    name: str, text: str, label: str, statuses: Sequence[CameraStatus | SinkStatus], field_name: str
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=[label])
    for status in statuses:
        family.add_metric([status.name], getattr(status, field_name))
    return family


def _gauge(name: str, text: str, values: Mapping[str, float], label: str) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for label_value, value in values.items():
        family.add_metric([label_value], value)
    return family


def _describe_gates(gates: Sequence[GateStatus]) -> Iterator[Metric]:
    text = "Vehicles of a gate's lists, by what the gate did."
    openings = CounterMetricFamily("plates_gate_openings", text, labels=["gate", "outcome"])
    text = "Seconds from the first readable frame to the relay's answer."
    delays = HistogramMetricFamily("plates_gate_delay_s", text, labels=["gate"])
    for gate in gates:
        for outcome, count in gate.outcomes.items():
            openings.add_metric([gate.name, outcome], count)
        bounds = [*map(str, BOUNDS_S), "+Inf"]
        buckets = [*zip(bounds, accumulate(gate.delays.counts), strict=True)]
        delays.add_metric([gate.name], buckets, gate.delays.sum_s)
    yield from (openings, delays)
    text = "Vehicles that wait for their turn."
    yield _gauge(
        "plates_gate_waiting", text, {gate.name: float(gate.waiting) for gate in gates}, "gate"
    )
    text = "1 if the relay answers, or is only asked when a vehicle comes."
    up = {gate.name: float(not gate.error) for gate in gates}
    yield _gauge("plates_gate_up", text, up, "gate")


HEALTH = "/healthz"
IDLE_S = 10.0
"""Longest wait for a request, so that silent connections keep no threads."""


class _Handler(WSGIRequestHandler):
    timeout = IDLE_S

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def serve_metrics(
    take: Callable[[], Snapshot],
    host: str,
    port: int,
    find_dead: Callable[[], Sequence[str]] = lambda: (),
    key: str = "",
) -> Callable[[], None]:
    """Serve the metrics at any path, and the state of the tasks at `/healthz`.

    Args:
        take: Returns the state.
        host: Address to listen on.
        port: Port to listen on.
        find_dead: Returns the names of dead tasks.
        key: Key that the metrics want, because they name cameras; empty for none.

    Returns:
        A function that ends the server.

    Raises:
        SettingsError: Nothing can listen there.
    """
    app = _make_app(take, find_dead, key)
    try:
        server = make_server(host, port, app, _server_of(host), handler_class=_Handler)
        thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"metrics_port: cannot listen on {host}:{port}: {reason}") from error

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop


def _make_app(
    take: Callable[[], Snapshot], find_dead: Callable[[], Sequence[str]], key: str
) -> Callable[..., Iterable[bytes]]:
    registry = CollectorRegistry()
    registry.register(SnapshotCollector(take))
    metrics = make_wsgi_app(registry)

    def answer(environ, start_response):  # type: ignore[no-untyped-def]  # by PEP 3333
        if environ["PATH_INFO"] != HEALTH:
            if key and not _has_key(environ, key):
                start_response("401 Unauthorized", [("WWW-Authenticate", "Bearer")])
                return [b"send metrics_key as `Authorization: Bearer KEY`\n"]
            return metrics(environ, start_response)
        names = find_dead()
        status = "503 Service Unavailable" if names else "200 OK"
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return ["".join(f"{name}\n" for name in names or ["ok"]).encode()]

    return answer


def _has_key(environ: Mapping[str, str], key: str) -> bool:
    header = environ.get("HTTP_AUTHORIZATION", "").encode("latin-1")
    return hmac.compare_digest(header, f"Bearer {key}".encode())


def _server_of(host: str) -> type[WSGIServer]:
    """Return a class of servers for the family of an address."""
    addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)

    class Server(ThreadingWSGIServer):
        address_family = addresses[0][0]

    return Server
