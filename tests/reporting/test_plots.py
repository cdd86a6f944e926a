import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np

from reporting.plots import Bars, Diagram, Line, plot


def picture_of(*rows: list[Diagram], path: Path) -> np.ndarray:
    plot(rows, path)
    picture = cv2.imread(str(path))
    assert picture is not None
    return picture


def test_every_diagram_has_its_place(tmp_path: Path) -> None:
    one = Diagram("one", "x", "y", (Line([0, 1], [0, 1], "line"),))
    two = Diagram("two", "x", "y", (Bars([0, 1], [3, 4], 1.0, counted=True),))
    alone = picture_of([one], path=tmp_path / "alone.png")
    four = picture_of([one, two], [two, one], path=tmp_path / "four.png")
    assert four.shape == (2 * alone.shape[0], 2 * alone.shape[1], 3)


def test_marks_have_their_colours(tmp_path: Path) -> None:
    marks = (
        Line([1, 8], [1, 10], colour="#ff0000", steps=True),
        Line([2], [3], "point", colour="#0000ff", style="o"),
    )
    diagram = Diagram("", "calls", "ms", marks, (1, 8), (1, None), x_ticks=(1, 8), is_log=True)
    pixels = picture_of([diagram], path=tmp_path / "a.png").reshape(-1, 3)
    colours = {tuple(pixel) for pixel in pixels.tolist()}
    assert {(0, 0, 255), (255, 0, 0)} <= colours


def test_a_diagram_without_points_is_drawn(tmp_path: Path) -> None:
    empty = Diagram("nothing", "x", "y", (Line([], []), Bars([], [], 0.1)))
    assert picture_of([empty], path=tmp_path / "empty.png").any()


def test_matplotlib_comes_only_with_a_plot() -> None:
    code = "import sys, reporting.plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
