"""What every client is, however it waits: whom it calls, how long, how often, how it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from opentelemetry import propagate, trace

from orchestrator.client.calls import Call
from orchestrator.client.faults import asked_pause_s, translate_errors
from orchestrator.client.parameters import check_timeout
from orchestrator.errors import ModelError, PlateError, RequestError, ServerError
from orchestrator.retries import Retries

READY_S = 5.0
"""Longest that a question about the server takes: who asks wants to know now."""

TRACER = trace.get_tracer("orchestrator")
"""Makes spans where the application has set OpenTelemetry up, nothing where it has not."""


class Caller:
    """Calls one server.

    Attributes:
        retried: How many calls were sent again so far.
    """

    def __init__(
        self,
        url: str = "localhost:8000",
        *,
        key: str | None = None,
        timeout_s: float = 60.0,
        retries: int = 0,
    ) -> None:
        """Prepare a client; it connects with the first call.

        Args:
            url: `host:port` or `http://host:port` for HTTP, `grpc://host:port` for gRPC; with TLS
                `https://host:port` or `grpcs://host:port`. Certificates are checked by the
                system's authorities, or by those of the file that `SSL_CERT_FILE` names.
            key: API key of the gateway; goes along with every call.
            timeout_s: How long a call may take each time it is sent.
            retries: How often a call that met no server, or a full one, is sent again, after
                pauses of 0.1 s, doubling up to 2 s, or longer ones that the server asks for; the
                error is the caller's where it asks for more than `timeout_s`.

        Raises:
            ServerError: The URL is none of these.
            SettingsError: The timeout or the retries are no such number, the key can be none, or
                the file of authorities is none.
        """
        self._url = url
        self._key = key
        self._timeout_s = check_timeout(timeout_s)
        self._retries = Retries(retries, patience_s=self._timeout_s, asked_s=asked_pause_s)
        self._is_closed = False
        self.retried = 0
        self._prepare()

    def _prepare(self) -> None:
        """Get ready for the first call; refuse a URL, a key or authorities that are none."""
        raise NotImplementedError

    def _check_open(self) -> None:
        """Refuse a call of a closed client: no fault of the server's, and no retry helps."""
        if self._is_closed:
            raise RequestError(f"{self._url}: the client is closed")

    @property
    def _soon_s(self) -> float:
        """How long a question about the server itself may take."""
        return min(self._timeout_s, READY_S)

    @contextmanager
    def _tracing(self, call: Call) -> Iterator[Call]:
        """Make a span of a call; gives the call with what makes the server's spans its children."""
        with TRACER.start_as_current_span(
            f"infer {call.model}",
            kind=trace.SpanKind.CLIENT,
            attributes={"server.address": self._url, "triton.request_id": call.request_id},
        ):
            headers: dict[str, str] = {}
            propagate.inject(headers)
            yield replace(call, headers=headers)

    @contextmanager
    def _translating(self, request_id: str = "") -> Iterator[None]:
        try:
            with translate_errors(self._url, self._timeout_s, request_id):
                yield
        except (ModelError, ServerError, ValueError) as error:
            if self._is_closed:  # while the call was under way
                raise RequestError(f"{self._url}: the client is closed") from error
            raise

    def _note_retry(self, error: PlateError) -> None:
        self.retried += 1
        trace.get_current_span().add_event("retry", {"reason": str(error)})
