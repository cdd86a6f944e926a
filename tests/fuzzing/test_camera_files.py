"""Mutated files of cameras: each is accepted, or rejected with a settings error."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from tests.plate_cameras.mutated_files import WHOLE, try_all, use


@pytest.fixture(autouse=True)
def one_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load the system's certificates once, because this takes longest."""
    context = ssl.create_default_context()
    monkeypatch.setattr(ssl, "create_default_context", lambda **_: context)


def test_the_whole_file_is_right(tmp_path: Path) -> None:
    (tmp_path / "CAMERAS.toml").write_text(WHOLE)
    use(tmp_path / "CAMERAS.toml")


def test_a_mutated_file_is_taken_or_told(tmp_path: Path) -> None:
    escaped, messages, accepted = try_all(tmp_path, 500, seed=1)
    assert not escaped
    assert accepted > 10
    assert max(map(len, messages)) < 1000
    assert sum("line" in message for message in messages) > 0.9 * len(messages)
