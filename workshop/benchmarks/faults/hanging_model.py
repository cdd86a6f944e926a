"""The Triton model `plate_recognition` with a fault: one picture makes it loop without end."""

from __future__ import annotations

from typing import Any

from orchestrator.arrays import Array, to_numpy
from orchestrator.pipeline import recognize
from orchestrator.triton import plate_recognition
from orchestrator.triton.plate_recognition import TritonPythonModel
from workshop.benchmarks.faults.breaking import is_marker

__all__ = ["TritonPythonModel"]


def recognize_or_hang(picture: Array, *arguments: Any, **options: Any) -> Any:
    """Run the pipeline, but loop without end on the marker."""
    if is_marker(to_numpy(picture)):
        while True:
            pass
    return recognize(picture, *arguments, **options)


vars(plate_recognition)["recognize"] = recognize_or_hang
