"""Calling the service: `PlateClient`, `AsyncPlateClient`, and what stands behind them."""

from orchestrator.client.recognitions import Recognition
from orchestrator.client.sync import PlateClient

__all__ = ["PlateClient", "Recognition"]
