"""Calling the service: `PlateClient`, `AsyncPlateClient`, and what stands behind them."""

from orchestrator.client.questions import PictureResult
from orchestrator.client.sync import PlateClient

__all__ = ["PictureResult", "PlateClient"]
