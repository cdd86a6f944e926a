"""Relays over HTTP, with a real server on this machine."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from orchestrator.cameras.gates.http_relay import HttpRelay
from orchestrator.cameras.gates.relay import OpeningRequest, RelayError
from orchestrator.errors import SettingsError
from tests.cameras.gates.known_vehicles import TEXT, make_gate

REQUEST = OpeningRequest("north", 'the "yard"', "p1", TEXT, "residents", TEXT)


@dataclass
class RelayServer:
    """A relay that answers with a status and keeps what it was asked."""

    status: int = 200
    requests: list[tuple[str, dict[str, str], str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        text = await request.text()
        self.requests.append((request.method, {**request.headers}, text))
        return web.Response(status=self.status, headers={"Location": "/elsewhere"})

    def switch_on(self, **options: str) -> None:
        async def run() -> None:
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", self.answer)
            runner = web.AppRunner(app)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            url = f"http://127.0.0.1:{runner.addresses[0][1]}/relay/0?turn=on"
            relay = HttpRelay(make_gate(url=url, options=options), {"KEY": "secret"})
            try:
                await relay.switch_on(REQUEST)
            finally:
                await relay.close()
                await runner.cleanup()

        asyncio.run(run())


def test_a_request_without_a_body_is_sent() -> None:
    server = RelayServer()
    server.switch_on(method="GET")

    assert [(method, body) for method, _, body in server.requests] == [("GET", "")]


def test_names_are_escaped_in_a_json_body() -> None:
    server = RelayServer()
    server.switch_on(body='{"plate": "$text", "camera": "$camera"}')

    ((method, headers, body),) = server.requests
    assert (method, headers["Content-Type"]) == ("POST", "application/json")
    assert body == '{"plate": "A123BC77", "camera": "the \\"yard\\""}'


def test_names_are_escaped_in_a_form() -> None:
    server = RelayServer()
    server.switch_on(body="camera=$camera&on=1", content_type="application/x-www-form-urlencoded")

    assert server.requests[0][2] == "camera=the%20%22yard%22&on=1"


def test_headers_and_passwords_come_from_the_environment() -> None:
    server = RelayServer()
    server.switch_on(**{"header.X-Api-Key": "env:KEY", "user": "plates", "password": "env:KEY"})

    headers = server.requests[0][1]
    assert headers["X-Api-Key"] == "secret"
    assert headers["Authorization"] == "Basic cGxhdGVzOnNlY3JldA=="


@pytest.mark.parametrize("status", [302, 307, 404, 500])
def test_anything_but_success_is_a_failure(status: int) -> None:
    server = RelayServer(status)

    with pytest.raises(RelayError, match=f"status {status}"):
        server.switch_on()
    assert len(server.requests) == 1


def test_a_relay_that_is_away_is_told_without_its_address(free_port: int) -> None:
    async def run() -> None:
        relay = HttpRelay(make_gate(url=f"http://127.0.0.1:{free_port}/?key=secret"), {})
        try:
            await relay.switch_on(REQUEST)
        finally:
            await relay.close()

    with pytest.raises(RelayError, match=r"cannot reach the relay: (?!.*secret)"):
        asyncio.run(run())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"url": "ftp://relay"}, "wanted an http", id="scheme"),
        pytest.param({"options": {"method": "DELETE"}}, "method: wanted GET", id="method"),
        pytest.param({"options": {"body": "$secret"}}, "body: wanted", id="placeholder"),
        pytest.param({"options": {"body": "$"}}, "body: wanted", id="lone-dollar"),
        pytest.param(
            {"options": {"body": "$text", "content_type": "text/xml"}}, "content_type", id="type"
        ),
        pytest.param({"options": {"verify": "maybe"}}, "verify: wanted yes or no", id="flag"),
        pytest.param({"options": {"ca_file": "/none"}}, "ca_file", id="certificates"),
        pytest.param({"options": {"colour": "red"}}, "wanted some of", id="unknown"),
        pytest.param({"options": {"password": "env:NO", "user": "a"}}, "variable NO", id="secret"),
    ],
)
def test_wrong_settings_are_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        HttpRelay(make_gate(**changes), {})
