"""Host names and origins that may call, and the CORS headers for browsers."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.serving.gateway.errors import GatewayError
from orchestrator.serving.gateway.http.origins import Origins, is_origin
from orchestrator.serving.gateway.options import Address
from tests.serving.gateway.conftest import Running, gateways

LOCAL, PUBLIC = Address("127.0.0.1", 8000), Address("0.0.0.0", 8000)
SHOP = "https://shop.example"


def scope(
    method: str = "POST", version: str = "1.1", path: str = "/", **headers: str
) -> dict[str, Any]:
    """Return a request's scope; `_` in names stands for `-`."""
    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return {
        "type": "http", "method": method, "http_version": version, "path": path, "headers": pairs
    }  # fmt: skip


def refusal_of(origins: Origins, asked: dict[str, Any]) -> GatewayError:
    with pytest.raises(GatewayError) as raised:
        origins.check(asked)
    return raised.value


class TestHost:
    @pytest.mark.parametrize(
        "host",
        ["localhost", "localhost:8000", "LocalHost:8000", "127.0.0.1:9", "[::1]:8000", "[::1]"],
    )
    def test_a_name_of_this_machine_passes(self, host: str) -> None:
        Origins.at(LOCAL, (), ()).check(scope(host=host))

    @pytest.mark.parametrize(
        "host",
        [
            "evil.example:8000",
            "localhost.evil.example",
            "evil.localhost",
            "127.0.0.1.evil.example",
            "localhost:8000:1",
            "localhost:port",
            "[::1].evil.example",
            "user@localhost",
        ],
    )
    def test_another_name_is_misdirected(self, host: str) -> None:
        refusal = refusal_of(Origins.at(LOCAL, (), ()), scope(host=host))
        assert (refusal.status, refusal.reason) == (421, "host")

    @pytest.mark.parametrize("address", [LOCAL, PUBLIC])
    def test_one_host_is_wanted(self, address: Address) -> None:
        origins = Origins.at(address, (), ())
        twice = scope()
        twice["headers"] = [(b"host", b"localhost"), (b"host", b"evil.example")]
        for asked in (scope(), scope(host=""), twice):
            assert refusal_of(origins, asked).status == 400

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
    def test_a_probe_by_http_1_0_needs_no_host(self, path: str) -> None:
        Origins.at(LOCAL, (), ()).check(scope("GET", "1.0", path))

    @pytest.mark.parametrize(
        "asked",
        [
            pytest.param(scope("GET", "1.0", "/v1/passes"), id="another path"),
            pytest.param(scope("GET", "1.0", "/v2/models/a/config"), id="another path of a model"),
            pytest.param(scope("GET", "1.0", "/v2/models/a/b/ready"), id="not a model's path"),
            pytest.param(scope("GET", "1.1", "/healthz"), id="a newer HTTP"),
        ],
    )
    def test_without_a_host_nothing_else_is_asked(self, asked: dict[str, Any]) -> None:
        assert refusal_of(Origins.at(LOCAL, (), ()), asked).reason == "host"

    @pytest.mark.parametrize("path", ["/", "/healthz"])
    def test_a_page_of_another_site_is_refused_also_without_a_host(self, path: str) -> None:
        asked = scope("GET", "1.0", path, origin="https://evil.example")
        assert refusal_of(Origins.at(PUBLIC, (), ()), asked).reason == "origin"

    @pytest.mark.parametrize("origin", ["http://", "https://", "null", "http://localhost"])
    @pytest.mark.parametrize("address", [LOCAL, PUBLIC])
    def test_no_page_is_the_services_own_without_a_host(
        self, address: Address, origin: str
    ) -> None:
        asked = scope("GET", "1.0", "/healthz", origin=origin)
        assert refusal_of(Origins.at(address, (), ()), asked).reason == "origin"

    def test_elsewhere_any_name_will_do(self) -> None:
        Origins.at(PUBLIC, (), ()).check(scope(host="10.1.2.3:8000"))
        Origins.at(PUBLIC, (), ()).check(scope("GET", "1.0"))

    def test_elsewhere_the_allowed_names_are_wanted_where_there_are_some(self) -> None:
        origins = Origins.at(PUBLIC, ["Plates.example.com"], ())
        origins.check(scope(host="plates.example.com"))
        assert refusal_of(origins, scope(host="10.1.2.3:8000")).status == 421

    def test_an_address_that_is_listened_on_is_a_name(self) -> None:
        Origins.at(Address("127.0.0.2", 8000), (), ()).check(scope(host="127.0.0.2:8000"))
        Origins.at(Address("::1", 8000), (), ()).check(scope(host="[::1]:8000"))


class TestOrigin:
    @pytest.mark.parametrize(
        "headers",
        [
            pytest.param({}, id="no browser"),
            pytest.param({"origin": "http://localhost:8000"}, id="its own page"),
            pytest.param({"origin": "https://localhost:8000"}, id="its page behind TLS"),
            pytest.param({"sec_fetch_site": "same-origin"}, id="a file of its own page"),
            pytest.param({"sec_fetch_site": "none"}, id="typed by the user"),
            pytest.param(
                {"origin": SHOP, "sec_fetch_site": "cross-site"}, id="a site that is allowed"
            ),
        ],
    )
    def test_a_page_that_may_call_passes(self, headers: dict[str, str]) -> None:
        Origins.at(LOCAL, (), [SHOP]).check(scope(host="localhost:8000", **headers))

    @pytest.mark.parametrize(
        "headers",
        [
            pytest.param({"origin": "https://evil.example"}, id="another site"),
            pytest.param({"origin": "http://localhost:3000"}, id="another port"),
            pytest.param({"origin": "null"}, id="a page without an origin"),
            pytest.param({"origin": f"{SHOP}.evil.example"}, id="a longer name"),
            pytest.param({"origin": "ftp://localhost:8000"}, id="another scheme"),
            pytest.param({"sec_fetch_site": "cross-site"}, id="without an origin"),
            pytest.param({"sec_fetch_site": "same-site"}, id="the same site"),
            pytest.param(
                {
                    "sec_fetch_site": "cross-site",
                    "sec_fetch_mode": "navigate",
                    "sec_fetch_dest": "document",
                },
                id="a form of another site",
            ),
        ],
    )
    def test_pages_of_others_are_refused(self, headers: dict[str, str]) -> None:
        asked = scope(host="localhost:8000", **headers)
        refusal = refusal_of(Origins.at(LOCAL, (), [SHOP]), asked)
        assert (refusal.status, refusal.reason) == (403, "origin")

    def test_two_origins_are_refused(self) -> None:
        asked = scope(host="localhost", origin=SHOP)
        asked["headers"].append((b"origin", SHOP.encode()))
        assert refusal_of(Origins.at(LOCAL, (), [SHOP]), asked).status == 403

    def test_a_link_on_another_site_may_be_followed(self) -> None:
        asked = scope(
            "GET",
            host="localhost",
            sec_fetch_site="cross-site",
            sec_fetch_mode="navigate",
            sec_fetch_dest="document",
        )
        Origins.at(LOCAL, (), ()).check(asked)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A gateway that accepts calls from pages of one other site."""
    with gateways(tmp_path_factory.mktemp("gateway")) as begin:
        yield begin(cors_origins=(SHOP,))


def ask(running: Running, method: str, path: str, **headers: str) -> tuple[int, dict, bytes]:
    """Send a request as a browser does; `_` in names stands for `-`."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return running.ask(method, path, b"" if method == "POST" else None, **named)


def test_an_allowed_site_may_read_the_answer(running: Running) -> None:
    status, headers, _ = ask(running, "GET", "/openapi.json", origin=SHOP)
    assert (status, headers["access-control-allow-origin"]) == (200, SHOP)
    assert "x-request-id" in headers["access-control-expose-headers"]
    assert "Origin" in headers["vary"]


def test_a_preflight_is_answered(running: Running) -> None:
    status, headers, _ = ask(
        running,
        "OPTIONS",
        "/v1/recognize",
        origin=SHOP,
        access_control_request_method="POST",
        access_control_request_headers="content-type, x-api-key",
        access_control_request_private_network="true",
    )
    assert (status, headers["access-control-allow-origin"]) == (200, SHOP)
    assert "POST" in headers["access-control-allow-methods"]
    assert "x-api-key" in headers["access-control-allow-headers"]
    assert headers["access-control-allow-private-network"] == "true"


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
    running: Running, method: str, path: str, kind: str
) -> None:
    status, headers, body = ask(running, method, path, origin="https://evil.example")
    assert (status, headers["content-type"]) == (403, kind)
    assert b"--cors-origin" in body
    assert "access-control-allow-origin" not in headers


def test_a_name_of_others_is_refused_on_both_ports_and_noted(running: Running) -> None:
    ports = (running.gateway.options.http.port, running.gateway.options.metrics.port)
    for port in ports:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/readyz", headers={"Host": f"evil.example:{port}"})
        assert connection.getresponse().status == 421
        connection.close()
    lines = [json.loads(line) for line in running.audit.read_text().splitlines()]
    assert [line["reason"] for line in lines[-2:]] == ["host", "host"]


@pytest.mark.parametrize(
    ("path", "status"), [("/docs/", 404), ("//evil.example/..", 404), ("/v1/recognize/", 404)]
)
def test_no_redirect_is_made(running: Running, path: str, status: int) -> None:
    answered, headers, _ = running.ask("GET", path)
    assert (answered, headers.get("location")) == (status, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://shop.example", True),
        ("http://localhost:3000", True),
        ("https://shop.example/", False),
        ("shop.example", False),
        ("*", False),
        ("ftp://shop.example", False),
    ],
)
def test_an_origin_is_a_scheme_and_a_host(text: str, expected: bool) -> None:
    assert is_origin(text) is expected
