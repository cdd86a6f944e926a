"""Answers of an HTTP application: to methods of its routes, and during shutdown."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.http.app import make_app, make_metrics_app
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from orchestrator.serving.gateway.policy.api_keys import hash_of
from tests.serving.gateway.http.service import client_of

ENDS = "plates_gateway_key_expires_in_seconds"


@pytest.fixture
def options(tmp_path: Path) -> GatewayOptions:
    return GatewayOptions(
        triton_metrics="http://127.0.0.1:1/metrics",
        audit=tmp_path / "audit",
        limits=Limits(calls=1),
    )


@pytest.mark.parametrize(
    ("make", "path", "words"),
    [
        (make_app, "/readyz", b'"detail":"this gateway is about to end'),
        (make_app, "/v2/health/ready", b'"error":"this gateway is about to end'),
        (make_app, "/v1/plate-reader/", b'another","status_code":503'),
        (make_app, "/v1/vision/alpr", b'"error":"this gateway is about'),
        (make_metrics_app, "/readyz", b'"reason":"leaving"'),
    ],
)
def test_a_client_of_a_gateway_that_ends_is_sent_elsewhere(
    options: GatewayOptions, make: Any, path: str, words: bytes
) -> None:
    reply = client_of(options, make, is_leaving=True).get(path)
    assert (reply.status_code, reply.headers["connection"]) == (503, "close")
    assert reply.headers["retry-after"] == "1"
    assert words in reply.content.replace(b'": "', b'":"')


@pytest.mark.parametrize(
    ("path", "accept", "kind", "words"),
    [
        pytest.param("/live", "text/html", "text/html", "--cameras", id="cameras"),
        pytest.param("/no/such", "text/html,*/*;q=0.8", "text/html", 'href="../page', id="deeper"),
        pytest.param("/live", "*/*", "application/problem+json", '"reason"', id="program"),
        pytest.param("/v2/none", "text/html", "application/json", '"error"', id="KServe"),
    ],
)
def test_a_person_at_a_wrong_address_gets_a_page(
    options: GatewayOptions, path: str, accept: str, kind: str, words: str
) -> None:
    reply = client_of(options).get(path, headers={"accept": accept})
    assert (reply.status_code, reply.headers["content-type"].partition(";")[0]) == (404, kind)
    assert words in reply.text


@pytest.mark.parametrize(
    ("path", "method", "methods", "kind"),
    [
        ("/v1/recognize", "GET", {"POST"}, "recognize"),
        ("/v1/plate-reader/", "GET", {"POST"}, "plate-reader"),
        ("/v1/plate-reader", "PUT", {"POST"}, "plate-reader"),
        ("/v1/vision/alpr", "GET", {"POST"}, "alpr"),
        ("/v2/models/plate_reader/infer", "HEAD", {"POST"}, "infer"),
        ("/metrics", "POST", {"GET", "HEAD"}, "metrics"),
        ("/healthz", "DELETE", {"GET", "HEAD"}, "other"),
    ],
)
def test_another_method_is_refused_and_noted(
    options: GatewayOptions, path: str, method: str, methods: set[str], kind: str
) -> None:
    reply = client_of(options).request(method, path)
    assert (reply.status_code, {*reply.headers["allow"].split(", ")}) == (405, methods)
    line = json.loads(options.audit.read_text())
    assert (line["what"], line["status"], line["reason"]) == (kind, 405, "not served")


@pytest.mark.parametrize(
    ("path", "files", "status", "headers"),
    [
        pytest.param("recognize", 2, 200, {"x-request-id": "gate-7"}, id="each has a problem"),
        pytest.param("recognize", 1, 400, {"x-request-id": "gate-7"}, id="the call has it"),
        pytest.param("recognize", 0, 400, {"x-request-id": "gate-7"}, id="no picture"),
        pytest.param("read", 2, 200, {}, id="an id that the service made"),
    ],
)
def test_answer_audit_and_header_have_the_id_of_a_rest_call(
    options: GatewayOptions, path: str, files: int, status: int, headers: dict[str, str]
) -> None:
    form = [("picture", ("a.jpg", b"none"))] * files
    reply = client_of(options).post(f"/v1/{path}", files=form, headers=headers)
    line, id = json.loads(options.audit.read_text()), reply.headers["x-request-id"]
    assert (line["status"], reply.status_code) == (status, status)
    assert line["id"] == headers.get("x-request-id", id) == id != ""
    assert reply.json().get("request_id", id) == id


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_route_of_get_answers_head_too(options: GatewayOptions, path: str, method: str) -> None:
    reply = client_of(options).request(method, path)
    assert (reply.status_code, "connection" in reply.headers) == (200, False)


@pytest.mark.parametrize(
    ("address", "key", "is_named"),
    [
        pytest.param("127.0.0.1", "", True, id="this machine"),
        pytest.param("::1", "", True, id="this machine over IPv6"),
        pytest.param("192.0.2.7", "", False, id="another machine"),
        pytest.param("192.0.2.7", "chief", True, id="an administrator"),
        pytest.param("192.0.2.7", "north", False, id="an administrator of a group"),
        pytest.param("192.0.2.7", "guest", False, id="another key"),
        pytest.param("127.0.0.1", "wrong", False, id="a wrong key"),
        pytest.param("not an address", "", False, id="no address"),
    ],
)
def test_the_port_of_metrics_names_keys_to_this_machine_and_to_administrators(
    options: GatewayOptions, tmp_path: Path, address: str, key: str, is_named: bool
) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text(
        f'[chief]\nsha256 = "{hash_of("chief")}"\nrole = "administrator"\n'
        f'[north]\nsha256 = "{hash_of("north")}"\nrole = "administrator"\ngroups = ["north"]\n'
        f'[guest]\nsha256 = "{hash_of("guest")}"\nexpires = 2100-01-01\n'
    )
    client = client_of(replace(options, keys=keys, wants_keys=True), make_counted, peer=address)
    page = client.get("/metrics", headers={"x-api-key": key} if key else {})
    assert page.status_code == 200
    ends = [line for line in page.text.splitlines() if line.startswith(f"{ENDS}{{")]
    named_ends = ['{key="guest"} 60.0', '{key="second-key"} 3600.0']
    assert ends == [ENDS + end for end in (named_ends if is_named else ['{key=""} 60.0'])]


def make_counted(service: DataPlane) -> ASGIApp:
    service.metrics.note_key_ends({"guest": 60.0, "second-key": 3600.0})
    return make_metrics_app(service)


@pytest.mark.parametrize("host", ["localhost:9123", "[::1]:9123"])
@pytest.mark.parametrize("path", ["/docs", "/openapi.json"])
def test_examples_have_the_address_that_was_asked(
    options: GatewayOptions, path: str, host: str
) -> None:
    answer = client_of(options).get(path, headers={"host": host})
    assert answer.status_code == 200
    assert f"http://{host}/v1/recognize" in answer.text
    assert "localhost:8000" not in answer.text


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/v1/no-such-path"])
def test_answers_lead_to_the_description_of_the_api(options: GatewayOptions, path: str) -> None:
    client = client_of(options)
    links = client.get(path).links
    assert client.get(links["service-desc"]["url"]).json()["openapi"].startswith("3.1")
    assert client.get(links["service-doc"]["url"]).text.startswith("<!DOCTYPE html>")
