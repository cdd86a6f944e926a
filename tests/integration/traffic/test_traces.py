"""One trace from the client through the BLS to each child model, as a collector sees it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from orchestrator import PlateClient
from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.client import base
from orchestrator.contract import unmark
from orchestrator.errors import RequestError
from orchestrator.serving.gateway.options import GatewayOptions
from orchestrator.serving.supervisor.local_server import on_free_ports, prepare
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_start import run_server
from tests.integration.collector import Collector, Span, run_collector
from tests.integration.serving import run_gateway
from tests.samples import STREET

STRAIGHT = ("http", "grpc")
WIRES = (*STRAIGHT, "gateway's http", "gateway's grpc")


@contextmanager
def instrument(url: str) -> Iterator[trace.Tracer]:
    """An application that has set OpenTelemetry up."""
    provider = TracerProvider(resource=Resource.create({"service.name": "gate"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(url)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "TRACER", provider.get_tracer("orchestrator"))
        yield provider.get_tracer("gate")
    provider.shutdown()


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    """The spans of a server and its callers, for three kinds of calls over each protocol.

    Without a caller's trace, the server traces only one request of a million.
    """
    with run_collector() as collector:
        traced_options = ServerOptions(traces=collector.url, trace_rate=1_000_000, pictures=1)
        options = on_free_ports(prepare(traced_options))
        with run_server(options), run_gateway(gateway_of(options)) as gateway:
            urls = (
                options.http_url,
                f"grpc://{options.grpc_url}",
                str(gateway.http),
                f"grpc://{gateway.grpc}",
            )
            with ExitStack() as stack:
                clients = {
                    wire: stack.enter_context(PlateClient(url))
                    for wire, url in zip(WIRES, urls, strict=True)
                }
                for wire, plates in clients.items():
                    plates.recognize(STREET, request_id=f"{wire} plain")
                with instrument(collector.url) as tracer:
                    good, bad = list_names("good", WIRES), list_names("bad", STRAIGHT)
                    collector.wait_for([*good, *bad], partial(call_all, clients, tracer))
        yield collector


def gateway_of(triton: ServerOptions) -> GatewayOptions:
    flags = GatewayFlags(http_port=0, grpc_port=0, metrics_port=0, audit=Path(os.devnull))
    return flags.to_options(triton)


def list_names(kind: str, wires: Sequence[str]) -> list[str]:
    return [f"{wire} {kind}" for wire in wires]


def call_all(clients: Mapping[str, PlateClient], tracer: trace.Tracer) -> None:
    for wire, client in clients.items():
        with tracer.start_as_current_span("barrier opens"):
            client.recognize(STREET, request_id=f"{wire} good")
    for wire in STRAIGHT:  # the gateway does not forward such calls
        with pytest.raises(RequestError, match=rf"\(request {wire} bad\)"):
            clients[wire].recognize(b"junk", request_id=f"{wire} bad")


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
    assert unmark(spans["lprnet"].attributes["triton.request_id"]) == f"{wire} good"


@pytest.mark.parametrize("wire", STRAIGHT)
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
