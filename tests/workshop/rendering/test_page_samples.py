from pathlib import Path

import cv2
import numpy as np
import pytest

from orchestrator.serving.gateway.http.page.routes import SAMPLES
from tests.samples import PROJECT
from workshop.rendering.page_samples import PAGE_SAMPLES, main

SHIPPED = PROJECT / "orchestrator" / "serving" / "gateway" / "http" / "page"


@pytest.fixture(scope="module")
def new_samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the samples, drawn now."""
    folder = tmp_path_factory.mktemp("samples")
    main(["--out", str(folder)])
    return folder


def test_the_page_has_the_samples() -> None:
    assert {*PAGE_SAMPLES} == {*SAMPLES} == {file.name for file in SHIPPED.glob("*.jpg")}


@pytest.mark.parametrize("name", PAGE_SAMPLES)
def test_a_sample_is_what_is_drawn(new_samples: Path, name: str) -> None:
    shipped_bgr, drawn_bgr = (cv2.imread(str(folder / name)) for folder in (SHIPPED, new_samples))
    assert shipped_bgr.shape == drawn_bgr.shape
    assert np.abs(shipped_bgr.astype(int) - drawn_bgr.astype(int)).mean() < 2
