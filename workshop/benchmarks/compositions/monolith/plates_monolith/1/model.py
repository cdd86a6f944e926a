"""Triton's entry to the monolith."""

from workshop.benchmarks.compositions.models import Monolith as TritonPythonModel

__all__ = ["TritonPythonModel"]
