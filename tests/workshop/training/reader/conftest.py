"""Fixtures that keep trainings of the reader short."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.workshop.training.reader.small_runs import write_crops
from workshop.training.reader import finishing
from workshop.training.reader import reader_training as reader
from workshop.training.reader.reader_recipe import ReaderData


def count_rows(rows: Sequence[object], folder: Path) -> None:
    (folder / "metrics.png").write_text(str(len(rows)))


@pytest.fixture(scope="module")
def little() -> Iterator[None]:
    """Few temperatures to calibrate with, one canary to choose from, and no diagram."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "workshop.training.reader.calibration.TEMPERATURES", np.geomspace(0.3, 3.0, 3)
        )
        patch.setattr("workshop.training.canaries.TRIES", 1)
        patch.setattr("workshop.training.reader.examination.draw_reader", count_rows)
        yield


@pytest.fixture
def only_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs end with their last checkpoint: no calibration, no canary."""
    monkeypatch.setattr(finishing, "choose_plates", lambda *_: None)
    monkeypatch.setattr(reader, "write_canary", lambda *_: None)


@pytest.fixture
def data(tmp_path: Path) -> ReaderData:
    return write_crops(tmp_path)
