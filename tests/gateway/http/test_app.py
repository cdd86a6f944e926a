"""Answers of an HTTP application: to methods of its routes, and during shutdown."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.gateway.data_plane import DataPlane
from orchestrator.gateway.http.app import make_app, make_metrics_app
from orchestrator.gateway.options import GatewayOptions, Limits
from tests.gateway.asgi import Reply, request
from tests.gateway.loops import run


async def ask(
    audit: Path, path: str, method: str = "GET", *, make: Any = make_app, is_leaving: bool = False
) -> Reply:
    options = GatewayOptions(
        triton_metrics="http://127.0.0.1:1/metrics", audit=audit, limits=Limits(calls=1)
    )
    service = DataPlane(options)
    service.connections.is_leaving = is_leaving
    reply = await request(make(service), path, method)
    await service.close()
    return reply


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
    reply = run(ask(tmp_path / "audit", path, make=make, is_leaving=True))
    assert (reply.status, reply.headers["connection"]) == (503, "close")
    assert reply.headers["retry-after"] == "1"
    assert said in reply.body.replace(b'": "', b'":"')


def test_who_asks_before_is_answered(tmp_path: Path) -> None:
    reply = run(ask(tmp_path / "audit", "/healthz"))
    assert reply.status == 200
    assert "connection" not in reply.headers


@pytest.mark.parametrize(
    ("path", "method", "allowed", "kind"),
    [
        ("/v1/recognize", "GET", {"POST"}, "recognize"),
        ("/v2/models/plate_reader/infer", "HEAD", {"POST"}, "infer"),
        ("/metrics", "POST", {"GET", "HEAD"}, "metrics"),
        ("/healthz", "DELETE", {"GET", "HEAD"}, "other"),
    ],
)
def test_another_method_is_refused_and_noted(
    path: str, method: str, allowed: set[str], kind: str, tmp_path: Path
) -> None:
    reply = run(ask(tmp_path / "audit", path, method))
    assert (reply.status, {*reply.headers["allow"].split(", ")}) == (405, allowed)
    line = json.loads((tmp_path / "audit").read_text())
    assert (line["what"], line["status"], line["reason"]) == (kind, 405, "not served")


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
def test_a_route_of_get_answers_head_too(path: str, tmp_path: Path) -> None:
    assert run(ask(tmp_path / "audit", path, "HEAD")).status == 200
