"""Calling the service: `PlateClient`, and what stands behind it."""

from orchestrator.client.sync import PlateClient

__all__ = ["PlateClient"]
