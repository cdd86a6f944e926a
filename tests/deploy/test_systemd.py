"""The unit for systemd. It was tried with a real systemd: docs/upgrade.md."""

import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import pytest

from orchestrator.cli.startup import SOCKET
from tests.deploy.test_images import GATEWAY_S
from tests.samples import PROJECT

UNITS = PROJECT / "deploy" / "systemd"
FILE, WATCH, DROP_IN = (
    UNITS / name for name in ("plates.service", "plates-watch.service", "cameras.conf")
)
FOLDER = "/opt/plates"


def read_unit(file: Path) -> dict[str, str]:
    parser = RawConfigParser(strict=file == FILE)
    parser.optionxform = str
    parser.read(file)
    return dict(parser["Service"])


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
@pytest.mark.parametrize("name", ["plates.service", "plates-watch.service"])
@pytest.mark.parametrize("has_cameras", [False, True])
def test_systemd_has_nothing_to_say(tmp_path: Path, name: str, has_cameras: bool) -> None:
    program = tmp_path / ".venv" / "bin" / "plates"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    for file in UNITS.glob("*.service"):
        tmp_path.joinpath(file.name).write_text(file.read_text().replace(FOLDER, str(tmp_path)))
    if has_cameras:
        drop_in = tmp_path / "plates.service.d" / DROP_IN.name
        drop_in.parent.mkdir()
        drop_in.write_text(DROP_IN.read_text().replace(FOLDER, str(tmp_path)))
    command = ["systemd-analyze", "verify", tmp_path / name]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout + child.stderr) == (0, "")


def test_the_service_says_when_it_is_ready_and_its_rights_and_end_are_those_it_needs() -> None:
    service = read_unit(FILE)
    assert service["ExecStart"] == f"{FOLDER}/.venv/bin/plates serve"
    assert (service["Type"], SOCKET) == ("notify", "NOTIFY_SOCKET")
    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) > 2 * GATEWAY_S
    assert service["OOMPolicy"] == "continue"  # after a worker that lacked memory
    assert service["User"] == service["Group"] == "plates"
    assert service["CapabilityBoundingSet"] == ""
    assert "MemoryDenyWriteExecute" not in service  # networks are compiled


def test_both_units_read_the_same_file_of_cameras() -> None:
    watch, drop_in = read_unit(WATCH), read_unit(DROP_IN)
    folder = f"/var/lib/{watch['StateDirectory']}"
    assert drop_in["StateDirectory"] == watch["StateDirectory"]
    assert f" {folder}/CAMERAS.toml" in watch["ExecStart"]
    assert drop_in["ExecStart"].endswith(f" --cameras {folder}/CAMERAS.toml")


def test_cameras_are_followed_for_ever_and_with_the_same_limits() -> None:
    service, watch = read_unit(FILE), read_unit(WATCH)
    assert watch["Restart"] == "always"
    assert int(watch["TimeoutStopSec"]) > 30  # docs/cameras.md
    own = {"MemoryMax", "TasksMax", "LimitNICE", "OOMPolicy", "KillMode", "TimeoutStartSec"}
    limits = [name for name in service if name.startswith(("Protect", "Restrict", "Limit"))]
    assert {name: watch.get(name) for name in limits if name not in own} == {
        name: service[name] for name in limits if name not in own
    }


def test_plates_are_not_in_the_journal() -> None:
    assert read_unit(WATCH)["StandardOutput"] == "null"
