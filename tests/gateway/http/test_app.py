"""Answers of an HTTP application during shutdown."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.gateway.data_plane import DataPlane
from orchestrator.gateway.http.app import make_app, make_metrics_app
from orchestrator.gateway.options import GatewayOptions
from tests.gateway.loops import run


async def ask(make: Any, path: str, audit: Path, *, is_leaving: bool) -> tuple[int, dict, bytes]:
    """Return status, headers and body of an answer."""
    service = DataPlane(GatewayOptions(audit=audit))
    service.connections.is_leaving = is_leaving
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1), "http_version": "1.1",
        "headers": [(b"host", b"localhost")],
    }  # fmt: skip
    await make(service)(scope, receive, send)
    await service.close()
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, sent[1]["body"]


@pytest.mark.parametrize(
    ("make", "path", "said"),
    [
        pytest.param(make_app, "/readyz", b'"detail":"this gateway is about to end', id="rest"),
        pytest.param(
            make_app, "/v2/health/ready", b'"error":"this gateway is about to end', id="kserve"
        ),
        pytest.param(make_metrics_app, "/readyz", b'"reason":"leaving"', id="metrics"),
    ],
)
def test_who_asks_is_sent_elsewhere(make: Any, path: str, said: bytes, tmp_path: Path) -> None:
    status, headers, body = run(ask(make, path, tmp_path / "audit", is_leaving=True))
    assert (status, headers["connection"], headers["retry-after"]) == (503, "close", "1")
    assert said in body.replace(b'": "', b'":"')


def test_who_asks_before_is_answered(tmp_path: Path) -> None:
    status, headers, _ = run(ask(make_app, "/healthz", tmp_path / "audit", is_leaving=False))
    assert status == 200
    assert "connection" not in headers
