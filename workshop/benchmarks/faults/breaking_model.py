"""The Triton model `plate_recognition` with faults: pictures that break or hang its worker."""

from __future__ import annotations

from typing import Any

from orchestrator.arrays import Array, to_numpy
from orchestrator.pipeline import recognize
from orchestrator.triton import plate_recognition
from orchestrator.triton.plate_recognition import TritonPythonModel
from workshop.benchmarks.faults.breaking import MARKER_SHAPE, PIPELINE_PX, Breaker, is_marker

__all__ = ["TritonPythonModel"]

breaker = Breaker(PIPELINE_PX)


def recognize_or_break(picture: Array, *arguments: Any, **options: Any) -> Any:
    """Run the pipeline, unless the picture breaks the worker, or makes it loop without end."""
    while picture.shape == MARKER_SHAPE and is_marker(to_numpy(picture)):
        pass
    height, width = picture.shape[:2]
    breaker.look((height, width), getattr(picture, "device", "cpu"))
    return recognize(picture, *arguments, **options)


vars(plate_recognition)["recognize"] = recognize_or_break
