"""The trace headers that are forwarded to Triton."""

import pytest

from orchestrator.serving.gateway.ops.tracing import trace_of

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_trace_is_handed_on_without_other_headers() -> None:
    headers = {"traceparent": PARENT, "tracestate": "rojo=00f067aa0ba902b7, congo=t61"}
    assert trace_of(headers | {"authorization": "Bearer x", "host": "y"}) == headers


@pytest.mark.parametrize("value", ["", PARENT.upper(), PARENT + "\n", PARENT[1:]])
def test_what_is_no_trace_is_dropped(value: str) -> None:
    assert trace_of({"traceparent": value}) == {}


@pytest.mark.parametrize("value", ["a=ё", "a=\x01", "a" * 513, " a"])
def test_what_is_no_state_of_a_trace_is_dropped(value: str) -> None:
    assert trace_of({"tracestate": value}) == {}
