"""Files that only their owner may read."""

import os
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.host.private_files import check_writable


def test_a_new_file_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    check_writable("audit", tmp_path / "audit.jsonl")
    os.umask(before)
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_text("a line")
    file.chmod(0o640)
    check_writable("audit", file)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("a line", 0o640)


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"audit: .* cannot be written: Is a directory"):
        check_writable("audit", tmp_path)
