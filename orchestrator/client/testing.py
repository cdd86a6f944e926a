"""A transport for the tests of applications. It needs no server."""

from __future__ import annotations

import threading
from dataclasses import replace

from orchestrator.client.inference import InferenceRequest
from orchestrator.client.supervision import corners_of
from orchestrator.contract import Arrays, to_arrays
from orchestrator.plates import Plates


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
        return to_arrays(Plates(tuple(plates)), request.outputs)

    def close(self) -> None:
        """Note that the client was closed."""
        self.is_closed = True
