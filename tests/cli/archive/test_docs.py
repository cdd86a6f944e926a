"""Commands and code of docs/archive.md: the commands are understood, the code runs."""

import re
import shlex
from pathlib import Path

import click
import pytest
import typer

from orchestrator.cli.app import app
from orchestrator.cli.archive.result_parts import ResultParts
from orchestrator.cli.archive.storage import StorageFolder
from orchestrator.cli.recognition.result_entry import Entry
from tests.samples import PROJECT

PAGE = (PROJECT / "docs" / "archive.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S)
COMMANDS = [
    line for _, block in BLOCKS for line in block.splitlines() if line.startswith("plates ")
]
(CODE,) = (block for language, block in BLOCKS if language == "python")


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_are_understood(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    plates = typer.main.get_command(app)
    assert isinstance(plates, click.Group)
    command = plates.get_command(click.Context(plates), name)
    assert command is not None
    given = command.make_context(name, [*arguments]).params
    assert given["source"] == arguments[0]


def test_the_code_reads_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow.parquet", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    parts = ResultParts(StorageFolder.named("plates", {}))
    parts.check_writable()
    more = {"archive": "photos", "bytes": 1}
    rows = [row | more for row in Entry("photos/1.jpg", error="damaged").to_rows()]
    parts.write("part-0a.parquet", rows)
    exec(compile(CODE, "docs/archive.md", "exec"), {})
    assert "photos/1.jpg damaged" in re.sub(" +", " ", capsys.readouterr().out)


def test_the_files_that_are_named_are_there() -> None:
    named = set(re.findall(r"deploy/[\w/]+\.yaml", PAGE))
    assert named
    assert all((PROJECT / name).is_file() for name in named)
