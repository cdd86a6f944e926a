"""One trace from the client through the BLS to each child model, as a collector sees it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from orchestrator import PlateClient
from orchestrator.client import sync
from orchestrator.errors import RequestError
from orchestrator.server.local import on_free_ports, prepare
from orchestrator.server.options import ServerOptions
from orchestrator.server.process import run_server
from tests.integration.collector import Collector, Span, collecting
from tests.samples import STREET

WIRES = ("http", "grpc")


@contextmanager
def instrumented(url: str) -> Iterator[trace.Tracer]:
    """An application that has set OpenTelemetry up."""
    provider = TracerProvider(resource=Resource.create({"service.name": "gate"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(url)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sync, "TRACER", provider.get_tracer("orchestrator"))
        yield provider.get_tracer("gate")
    provider.shutdown()


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    """All that a server and its callers told of three kinds of calls over each protocol.

    Only one request of a million is traced for the server's own sake.
    """
    with collecting() as collector:
        traced = ServerOptions(traces=collector.url, trace_rate=1_000_000)
        options = on_free_ports(prepare(traced))
        with run_server(options):
            urls = (options.http_url, f"grpc://{options.grpc_url}")
            for wire, url in zip(WIRES, urls, strict=True):
                with PlateClient(url) as plates:
                    plates.recognize(STREET, request_id=f"{wire} plain")
                    with instrumented(collector.url) as tracer:
                        names = (f"{wire} good", f"{wire} bad")
                        collector.wait_for(names, partial(call, plates, tracer, *names))
        yield collector


def call(plates: PlateClient, tracer: trace.Tracer, good: str, bad: str) -> None:
    with tracer.start_as_current_span("barrier opens"):
        plates.recognize(STREET, request_id=good)
    with pytest.raises(RequestError, match=rf"\(request {bad}\)"):
        plates.recognize(b"junk", request_id=bad)


def parent_of(name: str, spans: dict[str, Span]) -> str:
    return {span.id: span.name for span in spans.values()}[spans[name].parent]


@pytest.mark.parametrize("wire", WIRES)
def test_each_child_model_is_a_span_of_the_callers_trace(collector, wire: str) -> None:
    spans = collector.trace_of(f"{wire} good")
    assert parent_of("infer plate_recognition", spans) == "barrier opens"
    assert parent_of("InferRequest", spans) == "infer plate_recognition"
    assert parent_of("plate_recognition", spans) == "InferRequest"
    assert {parent_of(name, spans) for name in ("yolo", "stn", "lprnet")} == {"plate_recognition"}


@pytest.mark.parametrize("wire", WIRES)
def test_spans_name_the_service_and_the_request(collector, wire: str) -> None:
    spans = collector.trace_of(f"{wire} good")
    assert spans["infer plate_recognition"].service == "gate"
    assert spans["lprnet"].service == "plate_recognition"
    assert spans["lprnet"].attributes["triton.request_id"] == f"{wire} good"


@pytest.mark.parametrize("wire", WIRES)
def test_a_failed_call_has_a_trace_without_children(collector, wire: str) -> None:
    assert set(collector.trace_of(f"{wire} bad")) == {
        "infer plate_recognition",
        "InferRequest",
        "plate_recognition",
        "compute",
    }


@pytest.mark.parametrize("wire", WIRES)
def test_a_caller_that_traces_nothing_is_traced_at_the_servers_rate(collector, wire: str) -> None:
    assert collector.trace_of(f"{wire} plain") == {}
