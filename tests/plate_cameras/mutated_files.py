"""Mutates a CAMERAS.toml: its bytes, values, keys and tables."""

import random
from collections.abc import Callable
from pathlib import Path

from orchestrator.errors import ExtraError, SettingsError
from plate_cameras.configuration import read_configuration
from plate_cameras.gates.relay import make_relay
from plate_cameras.service.reloading import locate
from plate_cameras.sinks.registry import make_receivers
from plate_cameras.tracking.pass_tracker import PassTracker

WHOLE = """
service = "plates.example:8000"
metrics_port = 9100
metrics_host = "127.0.0.1"
cameras_per_watcher = 2
[store]
url = "postgresql+psycopg://plates@db/plates"
pictures = "pictures"
spool = "spool"
retention_days = 7
audit_days = 30.5
keep_frames = true
blur = "plates"
[control_room]
reasons_required = true
session_hours = 8
[[cameras]]
name = "gate"
url = "rtsp://user:secret@10.0.0.5/stream1"
looks_per_s = 2
text_threshold = 0.5
only_in_zones = true
lists = ["residents"]
group = "north"
verify_tls = true
tls_ca_file = "camera.pem"
zones = [{ name = "entry", polygon = [[0, 0.5], [1, 0.5], [1, 1], [0, 1]] }]
masks = [
    { name = "sky", polygon = [[0, 0], [1, 0], [1, 0.1]] },
]
lines = [{ name = "barrier", points = [[0, 0.8], [1, 0.8]] }]
schedule = { days = ["mon", "fri"], start = "06:00", end = "22:00" }
[[cameras]]
name = "yard"
url = "/dev/video0"
[[sinks]]
name = "erp"
type = "webhook"
url = "https://erp.example/plates"
events = ["agreed", "closed"]
secrets = ["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
cameras = ["gate"]
[[sinks]]
name = "home"
type = "mqtt"
url = "mqtt://broker:1883"
lists = ["residents"]
unknown = true
zones = ["entry"]
direction = "away"
text_threshold = 0.9
hold_off_s = 60
schedule = { days = ["sat"], start = "22:00", end = "06:00" }
options = { user = "plates", password = "secret", discovery = "no" }
[[sinks]]
name = "log"
type = "jsonl"
url = "passes.jsonl"
options = { rotate_bytes = "1000", kept_files = "3" }
[[gates]]
name = "main"
type = "http"
url = "http://10.0.0.9/relay"
cameras = ["gate"]
lists = ["residents"]
zones = ["entry"]
direction = "towards"
hold_off_s = 30
options = { method = "POST", body = "$text", "header.X-Key" = "key" }
[[gates]]
name = "back"
type = "modbus"
url = "modbus://10.0.0.9:502"
cameras = ["yard"]
lists = ["residents"]
options = { coil = "1", unit = "2" }
[[gates]]
name = "side"
type = "onvif"
url = "http://10.0.0.7"
cameras = ["yard"]
lists = ["residents"]
options = { user = "plates", password = "secret" }
"""

ODD_VALUES = [
    "0", "-1", "1e400", "nan", "-inf", "inf", "9" * 400, "9" * 5000, "0x" + "f" * 5000, "1e-400",
    "true", "false", '""', "''", "[]", "{}", "[[]]", "[" * 60 + "]" * 60, "{ a = { b = 1 } }",
    "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", '"\\u0000"', '"\\u0007bell"', '"\\t"',
    '"http://["', '"http://[::1"', '"http://[::1]:99999/"', '"https://host:port/"', '"mqtt://["',
    '"modbus://["', '"http://a]b/"', '"http://\\u2100/"', '"rtsp://u:p#w@h/s"', '"http://"',
    '"rtsp://u:p/w@h/s"', '"env:NOT_SET"', '"$"', '"${"', '"9" ', '"-5"', '"1e9"', '"\\u0665"',
    '"\\U0001F697"', '"\\u202Egate"', '"' + "x" * 10_000 + '"', '"../../etc"', '"."', '"yes"',
    '["\\u0000"]', '[1, "a"]', "[nan, nan]", "[[0, nan], [1, 1], [0, 1]]", '["env:"]', '"24:60"',
    '"whsec_"', '"whsec_!"', '"\\u00e9\\u0301"', '"24:00"', '"99:99"', '"http"', '"onvif"',
]  # fmt: skip


def mutate(content: str, random_: random.Random) -> bytes:
    """Return a file with one to three mutations."""
    content_bytes = content.encode()
    for _ in range(random_.randint(1, 3)):
        content_bytes = random_.choice(MUTATIONS)(content_bytes, random_)
    return content_bytes


def _replace_value(content: bytes, random_: random.Random) -> bytes:
    lines = content.split(b"\n")
    at = random_.choice([at for at, line in enumerate(lines) if b" = " in line] or [0])
    key = lines[at].partition(b" = ")[0]
    lines[at] = key + b" = " + random_.choice(ODD_VALUES).encode()
    return b"\n".join(lines)


def _replace_inner(content: bytes, random_: random.Random) -> bytes:
    """Replace one quoted text at random."""
    parts = content.split(b'"')
    at = random_.randrange(1, max(2, len(parts) - 1), 2)
    odd = random_.choice([value for value in ODD_VALUES if value.startswith('"')]).strip('" ')
    return b'"'.join([*parts[:at], odd.encode(), *parts[at + 1 :]])


def _change_bytes(content: bytes, random_: random.Random) -> bytes:
    at, count = random_.randrange(len(content) + 1), random_.randrange(9)
    return content[:at] + random_.randbytes(random_.randrange(4)) + content[at + count :]


def _change_key(content: bytes, random_: random.Random) -> bytes:
    lines = content.split(b"\n")
    at = random_.choice([at for at, line in enumerate(lines) if b" = " in line] or [0])
    value = lines[at].partition(b" = ")[2]
    key = random_.choice([b"a.b", b'""', b'"\\u0000"', b"x" * 5000, b"name", b"url", b"options"])
    lines[at] = key + b" = " + value
    return b"\n".join(lines)


def _change_lines(content: bytes, random_: random.Random) -> bytes:
    lines = content.split(b"\n")
    first, second = random_.randrange(len(lines)), random_.randrange(len(lines))
    drop: Callable[[], list[bytes]] = lambda: lines[:first] + lines[first + 1 :]  # noqa: E731
    double: Callable[[], list[bytes]] = lambda: [*lines[:first], lines[second], *lines[first:]]  # noqa: E731
    cut: Callable[[], list[bytes]] = lambda: lines[:first]  # noqa: E731
    return b"\n".join(random_.choice([drop, double, cut])())


MUTATIONS = (_replace_value, _replace_value, _replace_inner, _change_bytes, _change_key,
             _change_lines)  # fmt: skip


def try_all(folder: Path, count: int, seed: int) -> tuple[list[str], list[str], int]:
    """Use many mutated files as `plates watch` does.

    Returns:
        Exceptions other than settings errors, with their files; messages of all errors; the number
        of accepted files.
    """
    random_, file = random.Random(seed), folder / "CAMERAS.toml"
    faults, messages, accepted_files = list[str](), list[str](), 0
    for _ in range(count):
        content = mutate(WHOLE, random_)
        file.write_bytes(content)
        try:
            use(file)
            accepted_files += 1
        except (SettingsError, ExtraError) as error:
            messages.append(str(locate(file, error)))
        except Exception as error:
            faults.append(f"{type(error).__name__}: {error}\n{content!r}")
    return faults, messages, accepted_files


def use(file: Path) -> None:
    """Read a file, and create all objects that need no connection."""
    configuration = read_configuration(file)
    make_receivers(configuration, {})
    for gate in configuration.gates:
        make_relay(gate, {})
    for camera in configuration.cameras:
        PassTracker(camera)
