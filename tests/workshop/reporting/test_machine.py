from pathlib import Path

from workshop.reporting.files import read_report, write_report
from workshop.reporting.machine import Machine, describe_machine


def test_a_machine_is_described_and_read_back(tmp_path: Path) -> None:
    machine = describe_machine("2.54.0")
    assert machine.triton == "2.54.0"
    assert machine.cores >= 1
    assert set(machine.packages) >= {"torch", "openvino"}
    write_report(machine, tmp_path / "machine.json")
    assert read_report(Machine, tmp_path / "machine.json") == machine


def test_without_a_server_there_is_no_version_of_it() -> None:
    assert describe_machine().triton is None
