"""Triton's entry to the orchestrator."""

from orchestrator.triton.plate_recognition import TritonPythonModel

__all__ = ["TritonPythonModel"]
