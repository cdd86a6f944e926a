"""The public transports: a caller's own way to send requests, in place of HTTP or gRPC."""

from __future__ import annotations

from typing import Protocol

from orchestrator.client.inference import InferenceRequest
from orchestrator.contract import Arrays


class Transport(Protocol):
    """A transport for `PlateClient`. Any number of threads may call it at once.

    `FakeTransport` is one for tests. The client retries requests and decodes the outputs. With a
    transport, `is_ready` is true and `server_settings` returns the default settings.
    """

    def infer(self, request: InferenceRequest, timeout_s: float) -> Arrays:
        """Send a request.

        Args:
            request: Request to a model.
            timeout_s: Longest time that this may take.

        Returns:
            The outputs that `request.outputs` names. `orchestrator.contract.to_arrays` makes them
            from plates.

        Raises:
            PlateError: The error for the caller. The client retries Overloaded and ServerError.
            OSError: No server answers. The client raises a ServerError instead.
        """

    def close(self) -> None:
        """Close the connections."""


class AsyncTransport(Protocol):
    """A transport for `AsyncPlateClient`, with the same contract as `Transport`."""

    async def infer(self, request: InferenceRequest, timeout_s: float) -> Arrays:
        """Send a request and return its outputs."""

    async def close(self) -> None:
        """Close the connections."""
