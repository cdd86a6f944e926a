"""The command that measures how plates of each format are read."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from orchestrator.formats.plate_formats import russian
from orchestrator.reading.passes import Reader
from tests.scripted_networks import ScriptedInfer, rows
from workshop.evaluation.kinds import app, describe, draw_kinds, read_one
from workshop.rendering.country import russia


def test_every_format_has_as_many_plates_and_the_seed_decides() -> None:
    one, same = (list(draw_kinds(russia(), 1, seed=3)) for _ in range(2))
    assert [seen.photo.format for seen in one] == list(russia().drawn)
    assert all(map(np.array_equal, (s.photo.picture for s in one), (s.photo.picture for s in same)))
    assert [seen.xyxy.tolist() for seen in one] == [seen.xyxy.tolist() for seen in same]


def test_boxes_are_near_the_plates_and_inside_the_pictures() -> None:
    for seen in draw_kinds(russia(), 1, seed=4):
        height, width = seen.photo.picture.shape[:2]
        box, quad = seen.xyxy.reshape(2, 2), seen.photo.quad
        assert (box >= 0).all()
        assert (box <= [width, height]).all()
        off = np.abs(box - [quad.min(axis=0), quad.max(axis=0)]) / np.ptp(quad, axis=0)
        assert off.max() < 0.7


def test_a_plate_is_read_and_shown_by_its_score() -> None:
    seen = next(draw_kinds(russia(), 1, seed=5))
    reader = Reader(ScriptedInfer(rows(), (seen.photo.text,)), russian())
    plate = read_one(seen, reader, 0.5)
    assert (plate.best, plate.is_right, plate.is_shown_right) == (seen.photo.text, True, True)
    unsure = Reader(ScriptedInfer(rows(), (seen.photo.text,)), russian())
    hidden = read_one(seen, unsure, 1.0)
    assert (hidden.is_right, hidden.is_shown_right) == (True, False)


def test_the_table_counts_by_format() -> None:
    seen = next(draw_kinds(russia(), 1, seed=5))
    read = [
        read_one(seen, Reader(ScriptedInfer(rows(), (text,)), russian()), 0.5)
        for text in (seen.photo.text, "B999BB99")
    ]
    assert describe(read).splitlines()[1].split() == [
        "ru_car", "2", "50.0", "%", "9", "to", "91", "%", "50.0", "%", "50.0", "%",
    ]  # fmt: skip


def test_the_command_prints_a_row_for_each_format_and_draws_what_is_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("workshop.evaluation.kinds.load_here", lambda *_: ScriptedInfer(rows()))
    done = CliRunner().invoke(app, ["--each", "1", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    for name in russia().drawn:
        assert f"\n{name} " in done.output
    assert (tmp_path / "missed_kinds_1.png").is_file()


def test_a_font_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("workshop.evaluation.kinds.load_here", lambda *_: ScriptedInfer(rows()))
    (tmp_path / "font.ttf").write_text("none")
    done = CliRunner().invoke(app, ["--font", str(tmp_path / "font.ttf")])
    assert done.exit_code == 2
    assert "wanted a TrueType font" in done.output
