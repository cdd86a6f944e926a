"""Durable files, and files that only their owner can read."""

import errno
import os
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.host.disk_files import check_writable, sync


def test_files_and_folders_are_synced(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("content")
    sync(file)
    sync(str(tmp_path))


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_disk_that_does_not_know_the_call_is_no_error(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: _raise(number))
    sync(tmp_path)


def test_a_disk_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: _raise(errno.EIO))
    with pytest.raises(OSError, match="5"):
        sync(tmp_path)


def _raise(number: int) -> None:
    raise OSError(number, "")


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
