"""The encodings of files that Windows programs write."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.cli.recognition.watchlist import read_watchlist
from orchestrator.formats.plate_formats import russian
from orchestrator.host.toml_files import read_table
from orchestrator.plates import Plate

ENCODINGS = ["utf-8", "utf-8-sig", "utf-16"]

PLATE = Plate((0, 0, 1, 1), text="A123BC77")


@dataclass
class Named:
    name: str


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_toml_is_read_by_its_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.toml").write_bytes('name = "\u043c"\r\n'.encode(encoding))
    assert read_table(Named, tmp_path / "a.toml") == Named("\u043c")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_so_is_a_watchlist(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes("A123BC77 \u043c\r\n".encode(encoding))
    hit = read_watchlist(tmp_path / "a.txt", 0, russian(), print).find(PLATE)
    assert hit is not None
    assert (hit.plate, hit.note) == ("A123BC77", "\u043c")
