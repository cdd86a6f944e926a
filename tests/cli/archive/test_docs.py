"""Commands and code of docs/archive.md: the commands are understood, the code runs."""

import re
from pathlib import Path

import pytest

from orchestrator.cli.archive.result_parts import ResultParts
from orchestrator.cli.archive.storage import StorageFolder
from orchestrator.cli.recognition.result_entry import Entry
from tests.samples import PROJECT

PAGE = (PROJECT / "docs" / "archive.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S)
(CODE,) = (block for language, block in BLOCKS if language == "python")


def test_the_code_reads_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow.parquet", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    parts = ResultParts(StorageFolder.parse("plates", {}))
    parts.check_writable()
    extra_columns = {"archive": "photos", "bytes": 1}
    rows = [row | extra_columns for row in Entry("photos/1.jpg", error="damaged").to_rows()]
    parts.write("part-0a.parquet", rows)
    exec(compile(CODE, "docs/archive.md", "exec"), {})
    assert "photos/1.jpg damaged" in re.sub(" +", " ", capsys.readouterr().out)
