"""Only one module of the product imports the workshop."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from orchestrator.cli import workshop
from orchestrator.formats.plate_formats import russian
from orchestrator.host.canary import has_canary, read_canary
from orchestrator.networks.weights import list_sums
from tests.samples import PROJECT, copy_of
from workshop.training import canaries


@pytest.fixture
def weights_without_canary(tmp_path: Path) -> Path:
    """Our weights without the picture for health checks."""
    weights = copy_of("weights", tmp_path)
    (weights / "canary.jpg").unlink()
    return weights


def test_a_missing_picture_is_drawn(weights_without_canary: Path, monkeypatch, capsys) -> None:
    drawings = []
    monkeypatch.setattr(canaries, "write_canary", lambda *arguments: drawings.append(arguments))
    workshop.draw_canary(weights_without_canary)
    ((weights, country),) = drawings
    assert (weights, country.formats) == (weights_without_canary, russian())
    assert "drawing a picture for the health check: canary.jpg and" in capsys.readouterr().err


def test_one_that_is_there_stays(tmp_path: Path, capsys) -> None:
    weights = copy_of("weights", tmp_path)
    canary = read_canary(weights)
    workshop.draw_canary(weights)
    assert read_canary(weights) == canary
    assert capsys.readouterr().err == ""


def test_none_is_drawn_without_a_renderer_or_a_checkout(
    weights_without_canary: Path, monkeypatch, capsys
) -> None:
    formats = weights_without_canary / "formats.toml"
    formats.write_text(formats.read_text().replace("workshop.rendering.russia:draw", ""))
    list_sums(weights_without_canary)
    workshop.draw_canary(weights_without_canary)
    assert "none was drawn: " in capsys.readouterr().err
    monkeypatch.setattr(workshop, "is_checkout", lambda: False)
    workshop.draw_canary(weights_without_canary)
    assert not has_canary(weights_without_canary)


@pytest.mark.parametrize("place", workshop.COMMANDS.values())
def test_every_command_exists(place: str) -> None:
    module, _, name = place.partition(":")
    assert callable(getattr(import_module(module), name))


def test_no_other_module_of_the_product_imports_the_workshop() -> None:
    """An import by a name in a string escapes the import contracts."""
    workshop_name = re.compile(r"""(?m)["']workshop\.|^\s*(from|import) workshop\b""")
    files = (PROJECT / "orchestrator").rglob("*.py")
    assert [file.name for file in files if workshop_name.search(file.read_text())] == [
        "workshop.py"
    ]
