"""An OpenTelemetry collector that keeps all spans: OTLP over HTTP, protobuf and JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.http_servers import QuietHandler, running_http

CALL_S = 0.3
"""Time between two calls while the spans have not arrived, in seconds."""


class Span(NamedTuple):
    """The fields of a span that tests use.

    Ids are hexadecimal; without a parent, its id is empty.
    """

    name: str
    trace: str
    id: str
    parent: str
    service: str
    attributes: dict[str, Any]


class Collector:
    """Keeps spans in the order of their arrival."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[Span] = []

    def take(self, content_type: str, body: bytes) -> None:
        if content_type == "application/json":  # Triton's
            self.spans += _from_json(json.loads(body))
        else:  # the SDK's
            self.spans += _from_protobuf(ExportTraceServiceRequest.FromString(body))

    def wait_for(self, request_ids: Collection[str], calls: Callable[[], object]) -> None:
        """Repeat calls until the server's last span of a request has arrived for each id.

        Triton sends spans every five seconds. It releases those of a gRPC request only when a later
        request takes its place, so a single call may wait for ever.
        """
        deadline = time.monotonic() + 60
        while missing := [
            name for name in request_ids if "InferRequest" not in self.trace_of(name)
        ]:
            assert time.monotonic() < deadline, f"no InferRequest of {missing} in {self.spans}"
            calls()
            time.sleep(CALL_S)

    def trace_of(self, request_id: str) -> dict[str, Span]:
        """Return the spans by name, of the request with this id that has the most spans."""
        spans = list(self.spans)
        ids = {
            span.trace for span in spans if span.attributes.get("triton.request_id") == request_id
        }
        traces = [{span.name: span for span in spans if span.trace == trace} for trace in ids]
        return max(traces, key=len, default={})


@contextmanager
def run_collector() -> Iterator[Collector]:
    """Run a collector on a free port."""

    class ExportHandler(QuietHandler, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.take(self.headers["Content-Type"], body)
            self.send_response(200)
            self.end_headers()

    with running_http(ExportHandler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}/v1/traces")
        yield collector


def _from_protobuf(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for group in request.resource_spans:
        service = {
            attribute.key: attribute.value.string_value for attribute in group.resource.attributes
        }["service.name"]
        for span in (span for scope in group.scope_spans for span in scope.spans):
            attributes = {
                attribute.key: attribute.value.string_value for attribute in span.attributes
            }
            ids = (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())
            yield Span(span.name, *ids, service, attributes)


def _from_json(request: dict[str, Any]) -> Iterator[Span]:
    for group in request["resourceSpans"]:
        service = _values(group["resource"])["service.name"]
        for span in (span for scope in group["scopeSpans"] for span in scope["spans"]):
            ids = (span["traceId"], span["spanId"], span.get("parentSpanId", ""))
            yield Span(span["name"], *ids, service, _values(span))


def _values(part: dict[str, Any]) -> dict[str, Any]:
    return {
        entry["key"]: next(iter(entry["value"].values())) for entry in part.get("attributes", [])
    }
