"""Boxes, and pictures in which some of them were found."""

from workshop.evaluation.detection import Detected

LEFT, RIGHT = (0.0, 0.0, 100.0, 20.0), (200.0, 0.0, 300.0, 20.0)
NEAR_LEFT = (0.0, 0.0, 80.0, 20.0)  # IoU 0.8 with LEFT
HALF_LEFT = (0.0, 0.0, 50.0, 20.0)  # IoU 0.5
FAR = (500.0, 0.0, 600.0, 20.0)


def picture(*found, labels=(LEFT, RIGHT), ignored=()) -> Detected:
    boxes, scores = zip(*found, strict=True) if found else ((), ())
    return Detected("a.jpg", boxes, scores, labels, ignored)
