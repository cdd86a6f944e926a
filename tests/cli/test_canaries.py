"""Weights without a picture for the health check get one, where plates can be drawn."""

from pathlib import Path

import pytest

from orchestrator.system.canary import has_canary, read_canary
from orchestrator.cli import canaries
from orchestrator.formats.plate_formats import russian
from orchestrator.networks.weights import list_sums
from tests.samples import copy_of


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Our weights without their picture."""
    weights = copy_of("weights", tmp_path)
    (weights / "canary.jpg").unlink()
    return weights


def test_a_missing_picture_is_drawn_and_read(bare: Path, capsys) -> None:
    canaries.draw_missing(bare)
    assert has_canary(bare)
    assert russian().format_of(read_canary(bare).text) == "ru_car"
    assert "drawing a picture for the health check: canary.jpg and" in capsys.readouterr().err


def test_one_that_is_there_stays(tmp_path: Path, capsys) -> None:
    weights = copy_of("weights", tmp_path)
    before = read_canary(weights)
    canaries.draw_missing(weights)
    assert read_canary(weights) == before
    assert capsys.readouterr().err == ""


def test_plates_that_nobody_draws_are_told(bare: Path, capsys) -> None:
    formats = bare / "formats.toml"
    formats.write_text(formats.read_text().replace("workshop.rendering.russia:draw", ""))
    list_sums(bare)
    canaries.draw_missing(bare)
    assert not has_canary(bare)
    assert "there is none: " in capsys.readouterr().err


def test_without_a_checkout_nothing_is_drawn(bare: Path, monkeypatch) -> None:
    monkeypatch.setattr(canaries, "is_checkout", lambda: False)
    canaries.draw_missing(bare)
    assert not has_canary(bare)
