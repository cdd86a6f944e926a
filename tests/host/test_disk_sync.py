import errno
import os
from pathlib import Path

import pytest

from orchestrator.host.disk_sync import sync


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
