from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Schedule, Zone, read_configuration

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

[[gates]]
name = "north"
type = "http"
url = "http://10.0.0.9/open"
lists = ["residents"]
cameras = [ "gate" ]
zones = ["entry"]
direction = "towards"
schedule = { start = "07:00", end = "22:00" }
options = { method = "GET", password = "env:SECRET" }
"""

ERP = 'secrets = ["env:ERP_SECRET"]'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "CAMERAS.toml"


def test_a_whole_file_is_read(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode())  # by an editor
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
    (north,) = configuration.gates
    assert (north.zones, north.direction, north.fuzzy) == (("entry",), "towards", False)
    assert north.schedule == Schedule(start="07:00", end="22:00")
    assert "10.0.0.9" not in repr(north)
    assert "SECRET" not in repr(north)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"yard"', '"gate"', r"camera gate: wanted one of this name.*\(at line 20\)"),
        ('"yard"', '""', "wanted 1 to 100 printable characters"),
        ('"yard"', f'"{"a" * 101}"', "wanted 1 to 100 printable characters"),
        ('"yard"', '"gate\\n"', "wanted printable characters"),
        ("[0, 0.5], [1, 0.5], ", "", "wanted 3 or more points, got 2"),
        ("[1, 0.8]]", "[1, 80]]", "parts of the frame, 0 to 1"),
        ("[1, 0.8]]", "[1, 0.8, 1]]", "parts of the frame, 0 to 1"),
        ("[1, 0.8]]", "[1, 0.8], [1, 1]]", "wanted 2 points, got 3"),
        ("06:00", "6 am", "wanted a time HH:MM"),
        ("06:00", "06:00Z", "wanted local time without an offset"),
        ('"mon"', '"monday"', "got 'monday'"),
        ('"fri"', f'"{"x" * 10_000}"', r"days: wanted some of .*xxx\.\.\."),
        ("looks_per_s", "looks", "got looks"),
        ("looks_per_s = 2", "looks_per_s = 0", "wanted 0.1 to 60, got 0"),
        ("looks_per_s = 2", "looks_per_s = nan", r"looks_per_s: wanted .*, got nan \(at line 12\)"),
        ("looks_per_s = 2", "looks_per_s = 0x" + "f" * 3900, r"looks_per_s: .* \(at line 12\)"),
        ("metrics_port = 9100", "metrics_port = 70000", "65535"),
        ("metrics_port = 9100", "metrics_port = " + "9" * 5000, r"too long \(at line 3\)"),
        ('"rtsp://10.0.0.5/stream1"', '"http://["', r"url: wanted an address.*\(at line 11\)"),
        ('"rtsp://10.0.0.5/stream1"', '["rtsp://u:hidden@h"]', r"url: .* type list \(at line 11\)"),
        ("retention_days = 7", "retention_day = 7", r"got retention_day \(at line 7\)"),
        ('["gate"]', '["gates"]', r"sink erp: there is no camera 'gates' \(at line 28\)"),
        ('["gate"]', '["gate"]\nevents = ["opened"]', "got 'opened'"),
        (ERP, 'lists = ["stolen"]\n' + ERP, r"lists: wanted lists of its cameras \(residents\)"),
        (ERP, 'direction = "left"\n' + ERP, r"erp: direction: wanted towards or away, got 'left'"),
        (ERP, "text_threshold = 2\n" + ERP, r"erp: text_threshold: wanted 0 to 1, got 2"),
        (ERP, "hold_off_s = -1\n" + ERP, r"erp: hold_off_s: wanted 0 to 86400.*\(at line 27\)"),
        (ERP, 'schedule = { start = "25:00" }\n' + ERP, r"schedule: wanted a time.*\(at line 27\)"),
        ('"https://erp.example/plates"', '"http://["', r"sink erp: url: .*\(at line 26\)"),
        ('"http"', '"telnet"', "type: wanted http, onvif, modbus"),
        ('"towards"', '"left"', "direction: wanted towards, away"),
        ('lists = ["residents"]\ncameras', "lists = []\ncameras", "lists: wanted at least one"),
        ('[ "gate" ]', "[]", "cameras: wanted"),
        ('[ "gate" ]', '["x"]', "no camera 'x'"),
        ('zones = ["entry"]', 'side = "left"', "wanted lines beside it"),
        ('zones = ["entry"]', "pulse_s = 0", "pulse_s: wanted 0.1 to 60"),
        (WHOLE, "cameras = []", "wanted at least one"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_with_its_line(file: Path, old: str, new: str, message: str) -> None:
    assert old in WHOLE
    file.write_text(WHOLE.replace(old, new))
    with pytest.raises(SettingsError, match=message) as failure:
        read_configuration(file)
    assert "hidden" not in str(failure.value)
    assert len(str(failure.value)) < 500


@pytest.mark.parametrize("url", ["push:hikvision", "folder:/srv/ftp"])
def test_a_gate_with_lines_wants_streams_because_single_pictures_cross_no_line(
    file: Path, url: str
) -> None:
    lines = WHOLE.replace('zones = ["entry"]', 'lines = ["barrier"]')
    file.write_text(lines)
    assert read_configuration(file).gates[0].lines == ("barrier",)
    file.write_text(lines.replace("rtsp://10.0.0.5/stream1", url))
    message = r"gate north: lines: wanted cameras with streams, got gate, .* \(at line 36\)"
    with pytest.raises(SettingsError, match=message):
        read_configuration(file)
