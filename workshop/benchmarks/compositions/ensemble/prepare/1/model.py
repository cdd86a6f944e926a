"""Triton's entry to a step of the ensemble."""

from workshop.benchmarks.compositions.models import Prepare as TritonPythonModel

__all__ = ["TritonPythonModel"]
