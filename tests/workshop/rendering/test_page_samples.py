from pathlib import Path

import cv2
import numpy as np
import pytest

from orchestrator.serving.gateway.http.page.routes import SAMPLES
from tests.samples import PROJECT
from workshop.rendering.page_samples import PAGE_SAMPLES, main

SHIPPED = PROJECT / "orchestrator" / "serving" / "gateway" / "http" / "page"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the samples, drawn now."""
    folder = tmp_path_factory.mktemp("samples")
    main(["--out", str(folder)])
    return folder


def test_the_page_has_the_samples() -> None:
    assert {*PAGE_SAMPLES} == {*SAMPLES} == {file.name for file in SHIPPED.glob("*.jpg")}


@pytest.mark.parametrize("name", PAGE_SAMPLES)
def test_a_sample_is_what_is_drawn(written: Path, name: str) -> None:
    shipped, drawn = (cv2.imread(str(folder / name)) for folder in (SHIPPED, written))
    assert shipped.shape == drawn.shape
    assert np.abs(shipped.astype(int) - drawn.astype(int)).mean() < 2
