"""Triton's entry to the last step of the ensemble."""

from orchestrator.triton.plate_reader import TritonPythonModel

__all__ = ["TritonPythonModel"]
