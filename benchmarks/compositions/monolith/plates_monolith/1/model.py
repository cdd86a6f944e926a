"""Triton's entry to the monolith."""

from benchmarks.compositions.models import Monolith as TritonPythonModel

__all__ = ["TritonPythonModel"]
