import urllib.error
import urllib.request
from dataclasses import replace
from http.client import HTTPConnection

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.errors import SettingsError
from plate_cameras.background_tasks import TaskStatus
from plate_cameras.gates.status import GateStatus
from plate_cameras.sinks.sink_status import SinkStatus
from plate_cameras.store.finding.inside import SiteCounts
from plate_cameras.store.store_parts import Disk, StorageStatus
from plate_cameras.watching.metrics import Snapshot, SnapshotCollector, serve_metrics
from plate_cameras.watching.status import CameraStatus

GATE = CameraStatus("gate", "playing", 10, 7, 3, "A123BC77", 5, 0.33, 0.2, 1, "")
YARD = CameraStatus(
    "yard", "waiting", 0, 0, 0, "", 0, 0.0, 0.0, 4, "no answer", is_service_up=False, rejected=2
)
NORTH = GateStatus("north", outcomes={"opened": 2})
NORTH.delays.add(0.4)
NORTH.delays.add(99.0)
STATE = Snapshot(
    (GATE, YARD),
    (
        SinkStatus("erp", delivered=2, waiting=6, is_disabled=True),
        SinkStatus("log", failure="busy"),
    ),
    events_waiting=4,
    spooled_bytes=99,
    storage=StorageStatus(False, 1000, {"spool": Disk(5, 50), "pictures": Disk(7, 70)}),
    leases_lost=2,
    events_rejected=3,
    tasks=(
        TaskStatus("camera gate", failures=2),
        TaskStatus("writer", is_running=False, has_ended=True, is_vital=True),
    ),
    lines_lost=8,
    gates=(NORTH,),
    sites={"yard": SiteCounts(12, 3)},
)


def read_samples(page: str) -> dict[tuple[str, str], float]:
    """Return the values by the names of the series and their labels."""
    families = text_string_to_metric_families(page)
    samples = [sample for family in families for sample in family.samples]
    return {(sample.name, "".join(sample.labels.values())): sample.value for sample in samples}


def collect(state: Snapshot) -> dict[tuple[str, str], float]:
    registry = CollectorRegistry()
    registry.register(SnapshotCollector(lambda: state))
    return read_samples(generate_latest(registry).decode())


@pytest.fixture(scope="module")
def samples() -> dict[tuple[str, str], float]:
    return collect(STATE)


def test_without_a_store_there_are_no_series_of_it() -> None:
    assert ("plates_database_up", "") not in collect(Snapshot(()))


@pytest.mark.parametrize(
    ("name", "label", "value"),
    [
        ("plates_camera_frames_total", "gate", 10),
        ("plates_camera_passes_total", "gate", 3),
        ("plates_camera_dropped_total", "gate", 5),
        ("plates_camera_dropped_share", "gate", 0.33),
        ("plates_camera_up", "gate", 1),
        ("plates_camera_up", "yard", 0),
        ("plates_camera_service_up", "gate", 1),
        ("plates_camera_service_up", "yard", 0),
        ("plates_camera_reconnects_total", "yard", 4),
        ("plates_camera_rejected_total", "yard", 2),
        ("plates_sink_delivered_total", "erp", 2),
        ("plates_sink_disabled", "erp", 1),
        ("plates_sink_failing", "erp", 0),
        ("plates_sink_failing", "busylog", 1),
        ("plates_sink_waiting", "erp", 6),
        ("plates_events_waiting", "", 4),
        ("plates_spool_bytes", "", 99),
        ("plates_spool_limit_bytes", "", 1000),
        ("plates_database_up", "", 0),
        ("plates_disk_free_bytes", "spool", 5),
        ("plates_disk_size_bytes", "pictures", 70),
        ("plates_watcher_cameras", "", 2),
        ("plates_leases_lost_total", "", 2),
        ("plates_lease_events_rejected_total", "", 3),
        ("plates_watch_task_failures_total", "camera gate", 2),
        ("plates_watch_task_up", "camera gate", 1),
        ("plates_watch_task_up", "writer", 0),
        ("plates_watch_lines_lost_total", "", 8),
        ("plates_gate_openings_total", "northopened", 2),
        ("plates_gate_delay_s_bucket", "north0.5", 1),
        ("plates_gate_delay_s_bucket", "north+Inf", 2),
        ("plates_gate_up", "north", 1),
        ("plates_site_vehicles", "yard", 12),
        ("plates_site_overstays", "yard", 3),
    ],
)
def test_every_state_has_a_series(samples, name: str, label: str, value: float) -> None:
    assert samples[name, label] == value


@pytest.mark.parametrize(
    ("state", "is_live", "is_up"),
    [
        ("playing", True, True),
        ("off", True, True),
        ("ended", False, True),
        ("ended", True, False),
        ("failed", False, False),
        ("frozen", True, False),
    ],
)
def test_only_a_file_may_end(state: str, is_live: bool, is_up: bool) -> None:
    assert replace(GATE, state=state, is_live=is_live).is_up == is_up


def test_health_names_the_dead_tasks(free_port: int) -> None:
    dead: list[str] = []
    stop = serve_metrics(lambda: STATE, "127.0.0.1", free_port, lambda: dead)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/healthz") as page:
            assert page.read() == b"ok\n"
        dead += ["writer", "camera gate"]
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(f"http://127.0.0.1:{free_port}/healthz")
        with error.value as answer:
            assert (answer.code, answer.read()) == (503, b"writer\ncamera gate\n")
    finally:
        stop()


def test_a_port_that_is_taken_is_an_error_of_settings(free_port: int) -> None:
    stop = serve_metrics(lambda: STATE, "127.0.0.1", free_port)
    try:
        with pytest.raises(SettingsError, match=f"metrics_port: cannot listen on .*{free_port}"):
            serve_metrics(lambda: STATE, "127.0.0.1", free_port)
    finally:
        stop()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 401, id="none"),
        pytest.param({"Authorization": "Bearer other"}, 401, id="another"),
        pytest.param({"Authorization": "secret"}, 401, id="no scheme"),
        pytest.param({"Authorization": "Bearer \xe9"}, 401, id="other letters"),
        pytest.param({"Authorization": "Bearer secret"}, 200, id="the key"),
    ],
)
def test_names_of_cameras_want_the_key(
    free_port: int, headers: dict[str, str], status: int
) -> None:
    stop = serve_metrics(lambda: STATE, "127.0.0.1", free_port, key="secret")
    try:
        answers = {}
        for path in ("/metrics", "/healthz"):
            connection = HTTPConnection("127.0.0.1", free_port, timeout=5)
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            answers[path] = response.status, response.read()
            connection.close()
    finally:
        stop()
    assert (answers["/metrics"][0], answers["/healthz"][0]) == (status, 200)
    assert (STATE.cameras[0].name.encode() in answers["/metrics"][1]) is (status == 200)
