"""The unit for systemd. It was tried with a real systemd: docs/upgrade.md."""

import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import pytest

from orchestrator.cli.service_manager import SOCKET
from tests.deploy.test_dockerfile import GATEWAY_S
from tests.samples import PROJECT

FILE = PROJECT / "deploy" / "systemd" / "plates.service"
FOLDER = "/opt/plates"


@pytest.fixture
def service() -> dict[str, str]:
    parser = RawConfigParser(strict=True)
    parser.optionxform = str
    parser.read(FILE)
    return dict(parser["Service"])


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_has_nothing_to_say(tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "plates"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    unit = tmp_path / FILE.name
    unit.write_text(FILE.read_text().replace(FOLDER, str(tmp_path)))
    command = ["systemd-analyze", "verify", unit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_service_itself_says_when_it_is_ready(service: dict[str, str]) -> None:
    assert service["ExecStart"] == f"{FOLDER}/.venv/bin/plates serve"
    assert (service["Type"], SOCKET) == ("notify", "NOTIFY_SOCKET")


def test_a_stop_leaves_time_for_calls_in_work(service: dict[str, str]) -> None:
    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) > 2 * GATEWAY_S


def test_the_service_survives_a_worker_that_lacked_memory(service: dict[str, str]) -> None:
    assert service["OOMPolicy"] == "continue"


def test_the_service_is_not_root_and_compiles_code_of_its_networks(service) -> None:
    assert service["User"] == service["Group"] == "plates"
    assert service["CapabilityBoundingSet"] == ""
    assert "MemoryDenyWriteExecute" not in service
