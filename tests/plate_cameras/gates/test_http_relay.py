"""Relays over HTTP, with a real server on this machine."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from orchestrator.errors import SettingsError
from plate_cameras.gates import http_relay
from plate_cameras.gates.http_relay import HttpRelay
from plate_cameras.gates.relay import NotSwitchedError, OpeningRequest, RelayError
from tests.plate_cameras.gates.known_vehicles import TEXT, make_gate

REQUEST = OpeningRequest("north", 'the "yard"', "p1", TEXT, "residents", TEXT)


Requests = list[tuple[str, dict[str, str], str]]


async def switch_once(url: str, **options: str) -> None:
    relay = HttpRelay(make_gate(url=url, options=options), {"KEY": "secret"})
    try:
        await relay.switch_on(REQUEST)
    finally:
        await relay.close()


def switch_on(url: str) -> None:
    """Send a request with a method that aiohttp retries automatically."""
    asyncio.run(switch_once(url, method="GET"))


def serve_and_switch(requests: Requests, status: int = 200, **options: str) -> None:
    """Switch an HTTP relay on that answers with a status and records its requests."""

    async def answer(request: web.Request) -> web.Response:
        requests.append((request.method, {**request.headers}, await request.text()))
        return web.Response(status=status, headers={"Location": "/elsewhere"})

    async def run() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            await switch_once(f"http://127.0.0.1:{runner.addresses[0][1]}/relay/0", **options)
        finally:
            await runner.cleanup()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("kind", "body", "content"),
    [
        ("application/json", '{"at": "$camera"}', r'{"at": "the \"yard\""}'),
        ("application/x-www-form-urlencoded", "b=$camera&c=$text", "b=the%20%22yard%22&c=A123BC77"),
    ],
)  # fmt: skip
def test_names_are_escaped_and_secrets_come_from_the_environment(
    kind: str, body: str, content: str
) -> None:
    requests: Requests = []
    login = {"header.X-Api-Key": "env:KEY", "user": "plates", "password": "env:KEY"}
    serve_and_switch(requests, body=body, content_type=kind, **login)
    ((method, headers, request_body),) = requests
    assert (method, headers["Content-Type"], request_body) == ("POST", kind, content)
    assert headers["X-Api-Key"] == "secret"
    assert headers["Authorization"] == "Basic cGxhdGVzOnNlY3JldA=="


@pytest.mark.parametrize(
    ("status", "is_rejected"),
    [
        *((code, True) for code in (400, 401, 404, 429)),
        *((code, False) for code in (302, 307, 500, 503)),
    ],
)
def test_only_after_a_rejection_the_relay_has_certainly_not_opened(
    status: int, is_rejected: bool
) -> None:
    requests: Requests = []
    with pytest.raises(RelayError, match=f"status {status}") as caught:
        serve_and_switch(requests, status)
    assert isinstance(caught.value, NotSwitchedError) == is_rejected
    assert len(requests) == 1


def may_have_opened(switch_on: Callable[[], None], message: str) -> bool:
    """Tell whether a request fails with a possible opening of the relay."""
    with pytest.raises(RelayError, match=message) as caught:
        switch_on()
    return not isinstance(caught.value, NotSwitchedError)


@contextmanager
def rough_server(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Serve connections in turn; each gets its answer, and is closed.

    Yields:
        The address, and what the connections have sent.
    """
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for answer in answers:
                try:
                    connection = server.accept()[0]
                except OSError:  # closed at the end of the test
                    return
                with connection, suppress(OSError):
                    requests.append(connection.recv(65536))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/", requests


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="none"),
        pytest.param(b"HTTP/1.1 200 O", id="a-part"),
        pytest.param(b"what?\r\n\r\n", id="no-http"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 100_000, id="endless-headers"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"b" * 1_000_000, id="a-long-header"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, id="only-continue"),
    ],
)
def test_a_connection_that_ends_early_is_not_tried_again(answer: bytes) -> None:
    with rough_server(answer, b"HTTP/1.1 200 OK\r\n\r\n") as (url, requests):
        assert may_have_opened(lambda: switch_on(url), "lost")
    assert len(requests) == 1


def test_a_long_body_is_not_read() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    with rough_server(head + b"x" * 10_000) as (url, _):
        switch_on(url)


def test_a_relay_that_does_not_answer_may_have_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_relay, "TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert may_have_opened(lambda: switch_on(url), "the relay does not answer")


def test_a_name_that_is_not_resolved_in_time_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(http_relay, "CONNECT_S", 0.1)
    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", hang)
    with pytest.raises(NotSwitchedError, match="cannot reach the relay"):
        switch_on("http://relay.example/")


@pytest.mark.parametrize("host", ["127.0.0.1", "relay.invalid"])
def test_a_relay_that_is_away_is_told_without_its_address(free_port: int, host: str) -> None:
    with pytest.raises(NotSwitchedError, match=r"cannot reach the relay: (?!.*secret)"):
        switch_on(f"http://{host}:{free_port}/?key=secret")


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
        pytest.param({"options": {"header.A B": "c"}}, "a header of one line", id="header-name"),
        pytest.param({"options": {"header.A": "b\nc"}}, "a header of one line", id="header"),
        pytest.param({"options": {"colour": "red"}}, "wanted some of", id="unknown"),
        pytest.param({"options": {"password": "env:NO", "user": "a"}}, "variable NO", id="secret"),
    ],
)
def test_wrong_settings_are_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        HttpRelay(make_gate(**changes), {})


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 500 \x1b[31mred\r\nA: b\r\n\r\n",
        b"HTTP/1.1 200\x1b[2J OK\r\n\r\n",
        b"\x1b]0;title\x07\r\n\r\n",
    ],
)
def test_the_text_of_a_relay_is_told_in_one_line(answer: bytes) -> None:
    with rough_server(answer) as (url, _), pytest.raises(RelayError) as caught:
        switch_on(url)
    assert str(caught.value).isprintable()


def test_each_opening_has_its_own_connection_and_no_cookie() -> None:
    baking = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"

    async def run(url: str) -> None:
        address = url.replace("127.0.0.1", "localhost")  # aiohttp takes no cookie of an address
        relay = HttpRelay(make_gate(url=address), {})
        await relay.switch_on(REQUEST)
        await relay.switch_on(REQUEST)
        await relay.close()

    with rough_server(baking, baking) as (url, requests):
        asyncio.run(run(url))
    assert len(requests) == 2
    assert b"cookie" not in b"".join(requests).lower()
