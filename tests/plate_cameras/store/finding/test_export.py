"""Exports of many passes."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from plate_cameras.store.finding.export import export_passes
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing.pictures import PictureFolder
from tests.plate_cameras.store.stored_events import REQUESTER, make_event

COUNT, SIZE = 100, 100_000


@pytest.mark.parametrize("name", ["plate.zip", "plate"])
def test_an_export_has_one_pass_in_memory(store: PassStore, tmp_path: Path, name: str) -> None:
    store.write([make_event("a")], [])
    details = store.get("a", REQUESTER)
    hit = replace(details, found=replace(details.found, text="A" * SIZE, crop=None, frame=None))
    tracemalloc.start()
    count = export_passes(
        (hit for _ in range(COUNT)), PictureFolder(tmp_path / "no"), tmp_path / name
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == COUNT
    assert peak < COUNT * SIZE / 4
