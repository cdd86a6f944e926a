"""Host names and origins that may call, and the CORS headers for browsers."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from orchestrator.serving.gateway.errors import GatewayError
from orchestrator.serving.gateway.http.app import make_app, make_metrics_app
from orchestrator.serving.gateway.http.origins import Origins, is_origin
from orchestrator.serving.gateway.options import Address, GatewayOptions, Limits
from tests.serving.gateway.http.service import client_of

SHOP, EVIL = "https://shop.example", "https://evil.example"
LOCAL = Origins.at(Address("127.0.0.1", 8000), (), [SHOP])
PUBLIC = Origins.at(Address("0.0.0.0", 8000), (), ())
NAMED = Origins.at(Address("0.0.0.0", 8000), ["Plates.example.com"], ())
OTHER = Origins.at(Address("127.0.0.2", 8000), (), ())
IPV6 = Origins.at(Address("::1", 8000), (), ())
NAVIGATION = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}


def scope(
    method: str = "POST", version: str = "1.1", path: str = "/", **headers: str
) -> dict[str, Any]:
    """Return a request's scope; `_` in names stands for `-`."""
    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return {
        "type": "http", "method": method, "http_version": version, "path": path, "headers": pairs
    }  # fmt: skip


def twice(request_scope: dict[str, Any], name: bytes, value: bytes) -> dict[str, Any]:
    return request_scope | {"headers": [*request_scope["headers"], (name, value)]}


def own(**headers: str) -> dict[str, Any]:
    return scope(host="localhost:8000", **headers)


def probe(path: str, version: str = "1.0", **headers: str) -> dict[str, Any]:
    """Return a request without a host."""
    return scope("GET", version, path, **headers)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LocalHost:8000", "127.0.0.1:9", "[::1]:8000", "[::1]"]
)
def test_a_name_of_this_machine_passes(host: str) -> None:
    LOCAL.check(scope(host=host))


@pytest.mark.parametrize(
    "path",
    [
        "/healthz",
        "/readyz",
        "/v2/health/live",
        "/v2/health/ready",
        "/v2/models/plate_recognition/ready",
        "/v2/models/plate_recognition/versions/1/ready",
    ],
)
def test_a_probe_by_http_1_0_needs_no_host(path: str) -> None:
    LOCAL.check(probe(path))


@pytest.mark.parametrize(
    ("origins", "request_scope"),
    [
        pytest.param(PUBLIC, scope(host="10.1.2.3:8000"), id="any name elsewhere"),
        pytest.param(PUBLIC, probe("/"), id="no name elsewhere"),
        pytest.param(NAMED, scope(host="plates.example.com"), id="an allowed name"),
        pytest.param(OTHER, scope(host="127.0.0.2:8000"), id="the address of the service"),
        pytest.param(IPV6, scope(host="[::1]:8000"), id="its IPv6 address"),
        pytest.param(LOCAL, own(), id="no browser"),
        pytest.param(LOCAL, own(origin="http://localhost:8000"), id="its own page"),
        pytest.param(LOCAL, own(origin="https://localhost:8000"), id="its page behind TLS"),
        pytest.param(LOCAL, own(sec_fetch_site="same-origin"), id="a file of its own page"),
        pytest.param(LOCAL, own(sec_fetch_site="none"), id="typed by the user"),
        pytest.param(LOCAL, own(origin=SHOP, sec_fetch_site="cross-site"), id="an allowed site"),
        pytest.param(
            LOCAL,
            scope("GET", host="localhost", sec_fetch_dest="document", **NAVIGATION),
            id="a link on another site",
        ),
    ],
)
def test_a_request_that_may_come_passes(origins: Origins, request_scope: dict[str, Any]) -> None:
    origins.check(request_scope)


@pytest.mark.parametrize(
    ("origins", "request_scope", "status", "reason"),
    [
        *(
            pytest.param(LOCAL, scope(host=host), 421, "host", id=host)
            for host in (
                "evil.example:8000",
                "localhost.evil.example",
                "evil.localhost",
                "127.0.0.1.evil.example",
                "localhost:8000:1",
                "localhost:port",
                "[::1].evil.example",
                "user@localhost",
            )
        ),
        pytest.param(NAMED, scope(host="10.1.2.3:8000"), 421, "host", id="not allowed elsewhere"),
        *(
            pytest.param(origins, request_scope, 400, "host", id=f"one host is wanted {name}")
            for name, origins in (("here", LOCAL), ("elsewhere", PUBLIC))
            for request_scope in (scope(), scope(host=""), twice(own(), b"host", b"evil.example"))
        ),
        pytest.param(LOCAL, probe("/v1/passes"), 400, "host", id="another path without a host"),
        pytest.param(LOCAL, probe("/v2/models/a/config"), 400, "host", id="of a model"),
        pytest.param(LOCAL, probe("/v2/models/a/b/ready"), 400, "host", id="not a model's path"),
        pytest.param(LOCAL, probe("/healthz", "1.1"), 400, "host", id="a newer HTTP"),
        *(
            pytest.param(origins, probe(path, origin=origin), 403, "origin", id=f"{path} {origin}")
            for origins in (LOCAL, PUBLIC)
            for origin in (EVIL, "http://", "https://", "null", "http://localhost")
            for path in ("/healthz",)
        ),
        pytest.param(PUBLIC, probe("/", origin=EVIL), 403, "origin", id="another site's page"),
        pytest.param(LOCAL, own(origin=EVIL), 403, "origin", id="another site"),
        pytest.param(LOCAL, own(origin="http://localhost:3000"), 403, "origin", id="another port"),
        pytest.param(LOCAL, own(origin="null"), 403, "origin", id="a page without an origin"),
        pytest.param(LOCAL, own(origin=f"{SHOP}.evil.example"), 403, "origin", id="a longer name"),
        pytest.param(LOCAL, own(origin="ftp://localhost:8000"), 403, "origin", id="other scheme"),
        pytest.param(LOCAL, own(sec_fetch_site="cross-site"), 403, "origin", id="no origin"),
        pytest.param(LOCAL, own(sec_fetch_site="same-site"), 403, "origin", id="the same site"),
        pytest.param(
            LOCAL, own(sec_fetch_dest="document", **NAVIGATION), 403, "origin", id="a form"
        ),
        pytest.param(
            LOCAL, twice(own(origin=SHOP), b"origin", SHOP.encode()), 403, "origin", id="two"
        ),
    ],
)
def test_a_request_of_another_name_or_page_is_refused(
    origins: Origins, request_scope: dict[str, Any], status: int, reason: str
) -> None:
    with pytest.raises(GatewayError) as raised:
        origins.check(request_scope)
    assert (raised.value.status, raised.value.reason) == (status, reason)


@pytest.fixture
def options(tmp_path: Path) -> GatewayOptions:
    return GatewayOptions(
        cors_origins=(SHOP,), audit=tmp_path / "audit", limits=Limits(calls=1),
        triton_metrics="http://127.0.0.1:1/metrics",
    )  # fmt: skip


@pytest.fixture
def client(options: GatewayOptions) -> TestClient:
    """A client of a gateway that accepts calls from pages of one other site."""
    return client_of(options)


def test_an_allowed_site_may_read_the_answer(client: TestClient) -> None:
    reply = client.get("/openapi.json", headers={"origin": SHOP})
    assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (200, SHOP)
    assert "x-request-id" in reply.headers["access-control-expose-headers"]
    assert "Origin" in reply.headers["vary"]


def test_a_preflight_is_answered(client: TestClient) -> None:
    wishes = {"method": "POST", "headers": "content-type, x-api-key", "private-network": "true"}
    headers = {f"access-control-request-{name}": value for name, value in wishes.items()}
    reply = client.options("/v1/recognize", headers={"origin": SHOP, **headers})
    assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (200, SHOP)
    assert "POST" in reply.headers["access-control-allow-methods"]
    assert "x-api-key" in reply.headers["access-control-allow-headers"]
    assert reply.headers["access-control-allow-private-network"] == "true"


@pytest.mark.parametrize("method", ["OPTIONS", "POST", "GET"])
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/recognize", "application/problem+json"),
        ("/v2/models/plate_recognition/infer", "application/json"),
        ("/metrics", "application/problem+json"),
        ("/", "application/problem+json"),
    ],
)
def test_another_site_is_refused_everywhere(
    client: TestClient, method: str, path: str, kind: str
) -> None:
    reply = client.request(method, path, headers={"origin": EVIL})
    assert (reply.status_code, reply.headers["content-type"]) == (403, kind)
    assert b"--cors-origin" in reply.content
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize("make", [make_app, make_metrics_app])
def test_a_name_of_others_is_refused_on_both_ports_and_noted(
    options: GatewayOptions, make: Any
) -> None:
    reply = client_of(options, make).get("/readyz", headers={"host": "evil.example:8000"})
    assert reply.status_code == 421
    (line,) = map(json.loads, options.audit.read_text().splitlines())
    assert line["reason"] == "host"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SHOP, True),
        ("http://localhost:3000", True),
        (f"{SHOP}/", False),
        ("shop.example", False),
        ("*", False),
        ("ftp://shop.example", False),
        ("https://Shop.example", False),
        ("https://shop.example:443", False),
        ("https://shop.example:80", True),
        ("https://user@shop.example", False),
        ("http://[::1]:3000", True),
        ("https://", False),
    ],
)
def test_an_origin_is_a_scheme_and_a_host(text: str, *, expected: bool) -> None:
    assert is_origin(text) is expected
