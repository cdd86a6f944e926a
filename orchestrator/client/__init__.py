"""Clients of the service: `PlateClient`, `AsyncPlateClient`, and their transports."""

from orchestrator.client.requests import PictureResult
from orchestrator.client.sync import PlateClient

__all__ = ["PictureResult", "PlateClient"]
