"""The base class of both clients: address, timeout, retries, tracing and errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from opentelemetry import propagate, trace

from orchestrator.client.error_mapping import asked_pause_s, translate_errors
from orchestrator.client.inference import InferenceRequest
from orchestrator.client.parameters import check_timeout
from orchestrator.errors import ModelError, PlateError, RequestError, ServerError
from orchestrator.system.retry import Retries

READY_S = 5.0
"""Longest timeout for a request about the server, seconds. Such callers want a quick answer."""

TRACER = trace.get_tracer("orchestrator")
"""Makes spans if the application has configured OpenTelemetry, and otherwise does nothing."""


class BaseClient:
    """The base class of clients of one server.

    Attributes:
        retried: Number of retries so far.
    """

    def __init__(
        self,
        url: str = "localhost:8000",
        *,
        key: str | None = None,
        timeout_s: float = 60.0,
        retries: int = 0,
    ) -> None:
        """Prepare a client. It connects at the first call.

        Args:
            url: `host:port` or `http://host:port` for HTTP, `grpc://host:port` for gRPC; with TLS
                `https://host:port` or `grpcs://host:port`. Certificates are checked against the
                system's authorities, or those in the file that `SSL_CERT_FILE` names.
            key: API key of the gateway for every call.
            timeout_s: Timeout of a call, each time it is sent.
            retries: Most retries of a call if the server is not available or full. The pauses are
                0.1 s, doubling up to 2 s, or longer if the server asks for it. If the server asks
                for more than `timeout_s`, the call is not retried and raises the error.

        Raises:
            ServerError: The URL is none of these.
            SettingsError: The timeout, the retries, the key or the file of authorities is not
                valid.
        """
        self._url = url
        self._key = key
        self._timeout_s = check_timeout(timeout_s)
        self._retries = Retries(retries, patience_s=self._timeout_s, asked_s=asked_pause_s)
        self._is_closed = False
        self.retried = 0
        self._prepare()

    def _prepare(self) -> None:
        """Prepare the first call. Check the URL, the key and the authorities."""
        raise NotImplementedError

    def _check_open(self) -> None:
        """Refuse a call of a closed client. The server is not the cause, and no retry helps."""
        if self._is_closed:
            raise RequestError(f"{self._url}: the client is closed")

    @property
    def _soon_s(self) -> float:
        """Timeout of a request about the server itself, seconds."""
        return min(self._timeout_s, READY_S)

    @contextmanager
    def _tracing(self, call: InferenceRequest) -> Iterator[InferenceRequest]:
        """Make a span of a call. Yield the call with trace headers for the server's spans."""
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
