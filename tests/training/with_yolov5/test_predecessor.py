"""The predecessor's script speaks the protocol that `plates bench` expects."""

import sys
from pathlib import Path

import pytest

from benchmarks.child import SCRIPT, running, stages

STREET = Path(__file__).parents[2] / "data" / "street.jpg"


@pytest.mark.filterwarnings("ignore")  # yolov5 is older than the libraries that it imports
@pytest.mark.photos
def test_the_predecessor_is_timed_stage_by_stage(photos: Path) -> None:
    pytest.importorskip("yolov5", reason="needs the Poetry group train", exc_type=ImportError)
    weights = photos / "ancestor"
    if not (weights / "lprnet.pth").is_file():
        pytest.skip(f"the predecessor's checkpoints: none in {weights}")
    command = [sys.executable, str(SCRIPT), "--weights", str(weights)]
    with running("predecessor", command, {}) as child:
        rows = stages(child, STREET)
    names = [f"predecessor {name}" for name in ("detector", "stn", "lprnet", "total")]
    assert [row["stage"] for row in rows] == names
    assert min(row["ms"] for row in rows) > 0.1
