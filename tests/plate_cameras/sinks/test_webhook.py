"""Webhooks to a real server on this machine."""

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver
from standardwebhooks import Webhook, WebhookVerificationError

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Sink
from plate_cameras.sinks import webhook
from plate_cameras.sinks.receiver import DeliveryError, ReceiverGone
from plate_cameras.sinks.sink_queue import BATCH, LEASE_S, TURNS
from plate_cameras.sinks.webhook import WebhookReceiver
from tests.plate_cameras.sinks.deliveries import make_delivery

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
OLD_SECRET = "whsec_" + base64.b64encode(b"o" * 32).decode()
DELIVERY = make_delivery(1)


@dataclass
class Erp:
    """A receiver that gives these responses in turn, and then 204."""

    responses: list[web.Response] = field(default_factory=list)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(({**request.headers}, await request.read()))
        return self.responses.pop(0) if self.responses else web.Response(status=204)

    def serve(self, act: Callable[[str], Awaitable[None]]) -> None:
        """Run a coroutine function with the server's address."""

        async def run() -> None:
            app = web.Application()
            app.router.add_post("/plates", self.answer)
            runner = web.AppRunner(app)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.port = runner.addresses[0][1]
            try:
                await act(f"http://127.0.0.1:{self.port}/plates")
            finally:
                await runner.cleanup()

        asyncio.run(run())


def send(erp: Erp, *, clock: Callable[[], float] = time.time, **options: Any) -> None:
    async def act(url: str) -> None:
        sink = Sink("erp", "webhook", url, private_addresses=True, **options)
        receiver = WebhookReceiver(sink, {"ERP_SECRET": SECRET}, clock=clock)
        try:
            await receiver.send(DELIVERY)
        finally:
            await receiver.close()

    erp.serve(act)


def test_an_event_is_posted_with_its_id() -> None:
    erp = Erp()
    send(erp)
    ((headers, body),) = erp.requests
    assert (headers["webhook-id"], headers["Content-Type"]) == (DELIVERY.id, "application/json")
    assert json.loads(body) == DELIVERY.document
    assert "webhook-signature" not in headers


def test_every_secret_signs() -> None:
    erp = Erp()
    send(erp, secrets=("env:ERP_SECRET", OLD_SECRET))
    ((headers, body),) = erp.requests
    assert Webhook(SECRET).verify(body, headers) == DELIVERY.document
    assert Webhook(OLD_SECRET).verify(body, headers) == DELIVERY.document
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body + b" ", headers)


@pytest.mark.parametrize(
    ("response", "message", "retry_after_s"),
    [
        pytest.param(web.Response(status=500), "status 500", 0, id="error"),
        pytest.param(web.Response(status=401), "status 401", 0, id="no-permission"),
        pytest.param(
            web.Response(status=503, headers={"Retry-After": "17"}), "status 503", 17, id="busy"
        ),
        pytest.param(
            web.Response(status=503, headers={"Retry-After": "Thu, 01 Jan 1970 00:00:30 GMT"}),
            "status 503",
            30,
            id="busy-until",
        ),
        pytest.param(
            web.Response(status=302, headers={"Location": "http://169.254.169.254/"}),
            "status 302",
            0,
            id="redirect-to-a-private-address",
        ),
    ],
)
def test_other_answers_are_failures(
    response: web.Response, message: str, retry_after_s: float
) -> None:
    erp = Erp([response])
    with pytest.raises(DeliveryError, match=message) as caught:
        send(erp, clock=lambda: 0.0)
    assert caught.value.retry_after_s == retry_after_s
    assert len(erp.requests) == 1


def test_a_crash_repeats_as_many_events_as_the_pages_say() -> None:
    assert (WebhookReceiver.at_once * TURNS, WebhookReceiver.at_once * BATCH) == (40, 80)
    assert LEASE_S == 5 * 60


def test_410_ends_the_subscription() -> None:
    with pytest.raises(ReceiverGone, match="410 Gone"):
        send(Erp([web.Response(status=410)]))


async def test_a_receiver_that_does_not_answer_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.2)

    over = asyncio.Event()

    async def hang(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sink = Sink("erp", "webhook", f"http://127.0.0.1:{port}/", private_addresses=True)
    receiver = WebhookReceiver(sink, {})
    with pytest.raises(DeliveryError, match=r"no answer within 0\.2 s"):
        await receiver.send(DELIVERY)
    await receiver.close()
    over.set()
    server.close()
    await server.wait_closed()


async def test_no_server_is_a_failure_that_does_not_tell_the_address() -> None:
    sink = Sink("erp", "webhook", "http://user:word@127.0.0.1:1/token", private_addresses=True)
    receiver = WebhookReceiver(sink, {})
    with pytest.raises(DeliveryError, match="cannot post: ") as caught:
        await receiver.send(DELIVERY)
    await receiver.close()
    assert "word" not in str(caught.value)
    assert "token" not in str(caught.value)


class Rebinding(AbstractResolver):
    """Resolves every name to loopback."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> Any:
        found = {"hostname": host, "port": port, "family": 2, "proto": 0, "flags": 0}
        return [found | {"host": address} for address in self.addresses]

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("addresses", [("127.0.0.1",), ("10.0.0.1", "::1")])
def test_a_name_with_private_addresses_is_not_connected_to(addresses: tuple[str, ...]) -> None:
    erp = Erp()

    async def act(_: str) -> None:
        sink = Sink("erp", "webhook", f"http://erp.example:{erp.port}/plates")
        receiver = WebhookReceiver(sink, {}, Rebinding(*addresses))
        with pytest.raises(DeliveryError, match="cannot post"):
            await receiver.send(DELIVERY)
        await receiver.close()

    erp.serve(act)
    assert erp.requests == []


def test_a_name_is_connected_to_where_private_addresses_are_allowed() -> None:
    erp = Erp()

    async def act(_: str) -> None:
        url = f"http://erp.example:{erp.port}/plates"
        sink = Sink("erp", "webhook", url, private_addresses=True)
        receiver = WebhookReceiver(sink, {}, Rebinding("127.0.0.1"))
        await receiver.send(DELIVERY)
        await receiver.close()

    erp.serve(act)
    assert len(erp.requests) == 1


@pytest.mark.parametrize(
    "host",
    [
        "127.1",
        "2130706433",
        "017700000001",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "[::1%25lo]",
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
        "\u2460\u2461\u2466.0.0.1",
        "public.example\\@127.0.0.1",
        "127.0.0.1\\@public.example",
        "user@127.0.0.1:80",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "%31%32%37.0.0.1",
    ],
)
def test_no_spelling_of_a_private_address_is_taken(host: str) -> None:
    with pytest.raises(SettingsError):
        WebhookReceiver(Sink("erp", "webhook", f"http://{host}/"), {})


@pytest.mark.parametrize("host", ["localhost", "\u24dbocalhost"])
async def test_a_name_of_a_private_address_is_not_connected_to(host: str) -> None:
    receiver = WebhookReceiver(Sink("erp", "webhook", f"http://{host}:1/"), {})
    with pytest.raises(DeliveryError, match="cannot post") as caught:
        await receiver.send(make_delivery(1))
    await receiver.close()
    assert "refused" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "secrets", "message"),
    [
        pytest.param("ftp://erp.example", (), "wanted an http:// or https://", id="scheme"),
        pytest.param("http://127.0.0.1/", (), "wanted a public address", id="loopback"),
        pytest.param("http://[::1]/", (), "wanted a public address", id="loopback-6"),
        pytest.param("http://169.254.169.254/", (), "wanted a public address", id="cloud"),
        pytest.param("https://erp.example", ("word",), "of the form whsec_", id="no-prefix"),
        pytest.param("https://erp.example", ("whsec_c2hvcnQ=",), "24 to 64", id="short"),
        pytest.param("https://erp.example", ("env:NONE",), "variable NONE", id="not-set"),
    ],
)
def test_wrong_settings_are_told(url: str, secrets: tuple[str, ...], message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        WebhookReceiver(Sink("erp", "webhook", url, secrets=secrets), {})
    assert "c2hvcnQ" not in str(caught.value)
