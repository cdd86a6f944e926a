from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Camera, Schedule, Zone, read_configuration

WHOLE = """
service = "plates.example:8000"
metrics_port = 9100

[store]
url = "postgresql+psycopg://plates@db/plates"
retention_days = 7

[[cameras]]
name = "gate"
url = "rtsp://10.0.0.5/stream1"
looks_per_s = 2
only_in_zones = true
lists = ["residents"]
zones = [{ name = "entry", polygon = [[0, 0.5], [1, 0.5], [1, 1], [0, 1]] }]
lines = [{ name = "barrier", points = [[0, 0.8], [1, 0.8]] }]
schedule = { days = ["mon", "fri"], start = "06:00", end = "22:00" }

[[cameras]]
name = "yard"
url = "/dev/video0"

[[sinks]]
name = "erp"
type = "webhook"
url = "https://erp.example/plates"
secrets = ["env:ERP_SECRET"]
cameras = ["gate"]
"""

ERP = 'secrets = ["env:ERP_SECRET"]'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "CAMERAS.toml"


def test_a_whole_file_is_read(file: Path) -> None:
    file.write_text(WHOLE)
    configuration = read_configuration(file)
    gate, yard = configuration.cameras
    assert (configuration.service, configuration.metrics_port) == ("plates.example:8000", 9100)
    assert configuration.store.retention_days == 7
    assert gate.zones == (Zone("entry", ((0, 0.5), (1, 0.5), (1, 1), (0, 1))),)
    assert gate.schedule == Schedule(("mon", "fri"), "06:00", "22:00")
    assert gate.lines[0].points == ((0, 0.8), (1, 0.8))
    assert (yard.looks_per_s, yard.zones) == (4.0, ())
    assert configuration.sinks[0].events == ("agreed", "closed")
    assert "ERP_SECRET" not in repr(configuration.sinks[0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param('"yard"', '"gate"', "camera gate: wanted one of this name", id="same-name"),
        pytest.param("[0, 0.5], [1, 0.5], ", "", "wanted 3 or more points, got 2", id="points"),
        pytest.param("[1, 0.8]]", "[1, 80]]", "parts of the frame, 0 to 1", id="pixels"),
        pytest.param("[1, 0.8]]", "[1, 0.8, 1]]", "parts of the frame, 0 to 1", id="3d"),
        pytest.param("[1, 0.8]]", "[1, 0.8], [1, 1]]", "wanted 2 points, got 3", id="line"),
        pytest.param("06:00", "6 am", "wanted a time HH:MM", id="time"),
        pytest.param('"mon"', '"monday"', "got 'monday'", id="day"),
        pytest.param("looks_per_s = 2", "looks_per_s = 0", "wanted 0.1 to 60, got 0", id="looks"),
        pytest.param('cameras = ["gate"]', 'cameras = ["x"]', "no camera 'x'", id="camera"),
        pytest.param("metrics_port = 9100", "metrics_port = 70000", "65535", id="port"),
        pytest.param("looks_per_s", "looks", "got looks", id="unknown-key"),
        pytest.param('cameras = ["gate"]', 'events = ["opened"]', "got 'opened'", id="event"),
    ],
)
def test_a_wrong_value_is_named(file: Path, old: str, new: str, message: str) -> None:
    file.write_text(WHOLE.replace(old, new))
    with pytest.raises(SettingsError, match=message):
        read_configuration(file)


def test_a_file_without_cameras_is_an_error(file: Path) -> None:
    file.write_text("cameras = []")
    with pytest.raises(SettingsError, match="wanted at least one"):
        read_configuration(file)


@pytest.mark.parametrize("name", ["", "a" * 101, "gate\n"])
def test_names_are_short_and_printable(name: str) -> None:
    with pytest.raises(SettingsError, match=r"wanted (1 to 100 )?printable characters"):
        Camera(name, "rtsp://camera")


GATE = """
[[gates]]
name = "north"
type = "http"
url = "http://10.0.0.9/open"
cameras = ["gate"]
lists = ["residents"]
zones = ["entry"]
direction = "towards"
schedule = { start = "06:00", end = "22:00" }
options = { method = "GET", password = "env:SECRET" }
"""


def test_gates_are_read(file: Path) -> None:
    file.write_text(WHOLE + GATE)
    (gate,) = read_configuration(file).gates

    assert (gate.zones, gate.direction, gate.fuzzy) == (("entry",), "towards", False)
    assert gate.schedule == Schedule(start="06:00", end="22:00")
    assert "10.0.0.9" not in repr(gate)
    assert "SECRET" not in repr(gate)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param('"http"', '"telnet"', "type: wanted http, onvif, modbus", id="type"),
        pytest.param('"towards"', '"left"', "direction: wanted towards, away", id="direction"),
        pytest.param('["residents"]', "[]", "lists: wanted at least one", id="lists"),
        pytest.param('cameras = ["gate"]', "cameras = []", "cameras: wanted", id="no-camera"),
        pytest.param('cameras = ["gate"]', 'cameras = ["x"]', "no camera 'x'", id="camera"),
        pytest.param("zones", 'side = "left"\nzones', "wanted lines beside it", id="side"),
        pytest.param("zones", "pulse_s = 0\nzones", "pulse_s: wanted 0.1 to 60", id="pulse"),
    ],
)
def test_wrong_gates_are_told(file: Path, old: str, new: str, message: str) -> None:
    file.write_text(WHOLE + GATE.replace(old, new))

    with pytest.raises(SettingsError, match=message):
        read_configuration(file)


def test_a_byte_order_mark_is_no_part_of_the_file(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode())
    assert len(read_configuration(file).cameras) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("looks_per_s = 2", "looks_per_s = nan", r"looks_per_s: wanted .*, got nan \(at line 12\)"),
        ("looks_per_s = 2", "looks_per_s = 0x" + "f" * 3900, r"looks_per_s: .* \(at line 12\)"),
        ("metrics_port = 9100", "metrics_port = " + "9" * 5000, r"too long \(at line 3\)"),
        ('"gate"]', '"gates"]', r"sink erp: there is no camera 'gates' \(at line 28\)"),
        (
            ERP,
            'lists = ["stolen"]\n' + ERP,
            r"lists: wanted lists of its cameras \(residents\)",
        ),
        (ERP, 'direction = "left"\n' + ERP, r"erp: direction: wanted towards or away, got 'left'"),
        (ERP, "text_threshold = 2\n" + ERP, r"erp: text_threshold: wanted 0 to 1, got 2"),
        (ERP, "hold_off_s = -1\n" + ERP, r"erp: hold_off_s: wanted 0 to 86400.*\(at line 27\)"),
        (ERP, 'schedule = { start = "25:00" }\n' + ERP, r"schedule: wanted a time.*\(at line 27\)"),
        ('"yard"', '"gate"', r"camera gate: wanted one of this name.*\(at line 20\)"),
        ('"rtsp://10.0.0.5/stream1"', '"http://["', r"url: wanted an address.*\(at line 11\)"),
        ('"https://erp.example/plates"', '"http://["', r"sink erp: url: .*\(at line 26\)"),
        ('"rtsp://10.0.0.5/stream1"', '["rtsp://u:hidden@h"]', r"url: .* type list \(at line 11\)"),
        ("retention_days = 7", "retention_day = 7", r"got retention_day \(at line 7\)"),
    ],
)
def test_a_wrong_value_is_told_with_its_line(file: Path, old: str, new: str, message: str) -> None:
    file.write_text(WHOLE.replace(old, new))
    with pytest.raises(SettingsError, match=message) as raised:
        read_configuration(file)
    assert "hidden" not in str(raised.value)
    assert len(str(raised.value)) < 500


def test_endless_values_are_cut_in_messages(file: Path) -> None:
    file.write_text(WHOLE.replace('"fri"', '"' + "x" * 10_000 + '"'))
    with pytest.raises(SettingsError, match=r"days: wanted some of .*xxx\.\.\.") as raised:
        read_configuration(file)
    assert len(str(raised.value)) < 500
