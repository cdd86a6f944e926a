"""Triton's entry to the monolith."""

from benchmarks.models import Monolith as TritonPythonModel

__all__ = ["TritonPythonModel"]
