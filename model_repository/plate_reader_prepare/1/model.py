"""Triton's entry to the first step of the ensemble, for servers whose engine is OpenVINO."""

from orchestrator.triton.crop_preparation import TritonPythonModel

__all__ = ["TritonPythonModel"]
