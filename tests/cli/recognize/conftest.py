"""Fixtures that run `plates recognize`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from tests.cli.recognize.fake_client import JUNK, FakeClient
from tests.samples import STREET


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command in a folder of its own; return its result."""
    monkeypatch.setattr("orchestrator.client.PlateClient", FakeClient)
    monkeypatch.setattr("orchestrator.cli.chosen_server.fitting_calls", lambda *_: 3)
    monkeypatch.setattr(FakeClient, "calls", [])
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, **options: CliRunner().invoke(
        app, ["recognize", "--url", "somewhere:1", *map(str, arguments)], **options
    )


@pytest.fixture
def photo_folder(tmp_path: Path) -> Path:
    """Five files of pictures; the third has other content."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(5):
        content = JUNK if number == 2 else STREET.read_bytes()
        (folder / f"{number}.jpg").write_bytes(content)
    return folder
