"""A client that is installed alone, with a real server."""

from pathlib import Path

import cv2
import numpy as np

from tests.client_only import ClientOnly

STREET = Path(__file__).resolve().parents[1] / "data" / "street.jpg"


def test_it_recognises_and_draws(client_only: ClientOnly, wire, tmp_path: Path) -> None:
    done = client_only.plates("recognize", STREET, "--url", wire.url, "--annotate", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{STREET}: 3 plates\n")
    assert "A123BC77" in done.stdout
    drawn, source = (cv2.imread(str(path)) for path in (tmp_path / "street.png", STREET))
    assert drawn.shape == source.shape
    assert not np.array_equal(drawn, source)
