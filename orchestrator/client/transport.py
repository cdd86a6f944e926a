"""The public transports: a caller's own way to send requests, in place of HTTP or gRPC.

`FakeTransport` is for the tests of applications. It needs no server.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Protocol

from orchestrator.client.inference import InferenceRequest
from orchestrator.client.supervision import corners_of
from orchestrator.contract import Arrays, to_arrays
from orchestrator.plates import Plates


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


class FakeTransport:
    """A transport that answers with given plates, and records the requests.

    Both clients take it. Threads share the results, in the order of their requests.

    Example:
        ```python
        transport = FakeTransport(Overloaded("full"), Plates((Plate((0, 0, 90, 30), text="A1"),)))
        with PlateClient(transport=transport, retries=1) as client:
            assert client.recognize(b"a picture").texts == ["A1"]
        assert len(transport.requests) == 2
        ```

    Attributes:
        requests: The requests so far.
        is_closed: The client was closed.
    """

    def __init__(self, *results: Plates | Exception) -> None:
        """Prepare the results.

        Args:
            results: The plates, or the error, of each request. The last result is repeated. Without
                results, no request finds plates.
        """
        self.requests: list[InferenceRequest] = []
        self.is_closed = False
        self._results = results or (Plates(),)
        self._lock = threading.Lock()

    def infer(self, request: InferenceRequest, timeout_s: float) -> Arrays:
        """Record a request, and return or raise the next result."""
        with self._lock:
            result = self._results[min(len(self.requests), len(self._results) - 1)]
            self.requests.append(request)
        if isinstance(result, Exception):
            raise result
        plates = (replace(plate, corners=corners_of(plate)) for plate in result)
        return to_arrays(Plates(tuple(plates)), request.readable_outputs)

    def close(self) -> None:
        """Note that the client was closed."""
        self.is_closed = True
