"""The trace headers that are forwarded to Triton."""

import pytest

from orchestrator.serving.gateway.ops.tracing import trace_of

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_other_headers_stay_behind() -> None:
    assert trace_of({"authorization": "Bearer x", "host": "y"}) == {}


def test_a_trace_is_handed_on() -> None:
    headers = {"traceparent": PARENT, "tracestate": "rojo=00f067aa0ba902b7, congo=t61"}
    assert trace_of(headers | {"host": "y"}) == headers


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("traceparent", "", id="empty"),
        pytest.param("traceparent", PARENT.upper(), id="capitals"),
        pytest.param("traceparent", PARENT + "\n", id="another line"),
        pytest.param("traceparent", PARENT[1:], id="too short"),
        pytest.param("tracestate", "a=ё", id="not ASCII"),
        pytest.param("tracestate", "a=\x01", id="a control character"),
        pytest.param("tracestate", "a" * 513, id="too long"),
        pytest.param("tracestate", " a", id="a blank first"),
    ],
)
def test_what_is_no_trace_is_dropped(name: str, value: str) -> None:
    assert trace_of({name: value}) == {}
