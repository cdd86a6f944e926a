"""The picture that a run writes for the health check."""

from pathlib import Path

import pytest

from orchestrator.networks.weights import WEIGHTS
from workshop.rendering.country import russia
from workshop.training import canaries
from workshop.training.canaries import TRIES, choose_canary, write_canary
from workshop.training.runs import complete


def set_scores(monkeypatch: pytest.MonkeyPatch, *scores: float) -> None:
    """Let the pictures be their seeds, which the networks read with these scores; 0 from then."""
    score_of_seed = dict(enumerate(scores))
    monkeypatch.setattr(canaries, "draw_canary", lambda _, seed: (b"%d" % seed, f"A{seed}"))
    monkeypatch.setattr(canaries, "score_of", lambda file, *_: score_of_seed.get(int(file), 0.0))


@pytest.mark.parametrize(
    ("scores", "canary"),
    [
        pytest.param((0.95, 0.99), (b"0", "A0", 0.95), id="the first that is sure"),
        pytest.param((0.0, 0.5, 0.9), (b"2", "A2", 0.9), id="a later one"),
        pytest.param((0.2, 0.5, 0.3), (b"1", "A1", 0.5), id="none sure: the surest"),
        pytest.param((0.0,) * TRIES + (0.95,), None, id="none of the tries right"),
    ],
)
def test_the_first_sure_picture_is_taken(monkeypatch, scores, canary) -> None:
    set_scores(monkeypatch, *scores)
    assert choose_canary(russia(), lambda *_: {}) == canary


def test_the_projects_weights_get_a_picture_that_they_read(tmp_path: Path, caplog) -> None:
    caplog.set_level("INFO")
    (tmp_path / "formats.toml").write_bytes((WEIGHTS / "formats.toml").read_bytes())
    complete(tmp_path)
    write_canary(tmp_path, russia())
    text = (tmp_path / "canary.txt").read_text().strip()
    assert f"picture for the health check: {text}, read with a score of" in caplog.text
    assert (tmp_path / "canary.jpg").read_bytes().startswith(b"\xff\xd8")


def test_without_a_right_reading_there_is_no_picture(tmp_path: Path, monkeypatch, caplog) -> None:
    monkeypatch.setattr(canaries, "load_networks", lambda *_, **__: None)
    set_scores(monkeypatch)
    write_canary(tmp_path, russia())
    assert "of 20 rendered ones these networks read none right" in caplog.text
    assert not any(tmp_path.iterdir())


def test_without_a_renderer_there_is_no_picture(tmp_path: Path, caplog) -> None:
    caplog.set_level("INFO")
    write_canary(tmp_path, None)
    assert f"into {tmp_path} as canary.jpg and canary.txt" in caplog.text
