"""The zone of this machine in all tests of cameras that send, and a watched folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plate_cameras.sources.sent.watched_folder import Folder


@pytest.fixture(autouse=True)
def _in_moscow() -> Iterator[None]:
    """Let this machine be where the cameras are: some of them send local times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Moscow")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    return Folder(tmp_path, monkeypatch)
