"""Webhooks to a real server on this machine."""

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver
from standardwebhooks import Webhook, WebhookVerificationError

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Sink
from plate_cameras.sinks.receiver import DeliveryError, ReceiverGone
from plate_cameras.sinks.webhook import WebhookReceiver
from tests.plate_cameras.sinks.receivers import make_delivery

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


UNTIL = "Thu, 01 Jan 1970 00:00:30 GMT"


@pytest.mark.parametrize(
    ("status", "header", "error", "retry_after_s"),
    [
        pytest.param(500, {}, DeliveryError, 0, id="error"),
        pytest.param(401, {}, DeliveryError, 0, id="no-permission"),
        pytest.param(410, {}, ReceiverGone, 0, id="wants-no-more"),
        pytest.param(503, {"Retry-After": "17"}, DeliveryError, 17, id="busy"),
        pytest.param(503, {"Retry-After": UNTIL, "Date": "none"}, DeliveryError, 30, id="until"),
        pytest.param(
            503,
            {"Retry-After": UNTIL, "Date": "Thu, 01 Jan 1970 00:00:10 GMT"},
            DeliveryError,
            20,
            id="until-by-the-receiver-s-clock",
        ),
        pytest.param(302, {"Location": "http://169.254.169.254/"}, DeliveryError, 0, id="redirect"),
    ],
)
def test_other_answers_are_failures(
    status: int, header: dict[str, str], error: type, retry_after_s: float
) -> None:
    erp = Erp([web.Response(status=status, headers=header)])
    with pytest.raises(error, match=str(status)) as caught:
        send(erp, clock=lambda: 0.0)
    assert type(caught.value) is error
    assert caught.value.retry_after_s == retry_after_s
    assert len(erp.requests) == 1


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
        address = {"hostname": host, "port": port, "family": 2, "proto": 0, "flags": 0}
        return [address | {"host": ip} for ip in self.addresses]

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("addresses", "private_addresses", "message"),
    [
        pytest.param(("127.0.0.1",), False, "cannot post", id="loopback"),
        pytest.param(("10.0.0.1", "::1"), False, "cannot post", id="several"),
        pytest.param(("127.0.0.1",), True, "", id="allowed"),
    ],
)
def test_a_name_with_private_addresses_is_connected_to_only_where_they_are_allowed(
    addresses: tuple[str, ...], private_addresses: bool, message: str
) -> None:
    erp = Erp()

    async def act(_: str) -> None:
        url = f"http://erp.example:{erp.port}/plates"
        sink = Sink("erp", "webhook", url, private_addresses=private_addresses)
        receiver = WebhookReceiver(sink, {}, Rebinding(*addresses))
        with pytest.raises(DeliveryError, match=message) if message else nullcontext():
            await receiver.send(DELIVERY)
        await receiver.close()

    erp.serve(act)
    assert len(erp.requests) == private_addresses


SPELLINGS = [
    "127.1", "2130706433", "017700000001", "127.0.0.1.", "[::ffff:127.0.0.1]", "[::1%25lo]",
    "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "\u2460\u2461\u2466.0.0.1",
    "public.example\\@127.0.0.1", "127.0.0.1\\@public.example", "user@127.0.0.1:80",
    "0x7f000001", "0x7f.1", "0177.0.0.1", "%31%32%37.0.0.1",
]  # fmt: skip


@pytest.mark.parametrize("host", SPELLINGS)
def test_no_spelling_of_a_private_address_is_taken(host: str) -> None:
    with pytest.raises(SettingsError):
        WebhookReceiver(Sink("erp", "webhook", f"http://{host}/"), {})


@pytest.mark.parametrize("host", ["localhost", "\u24dbocalhost"])
async def test_a_name_of_a_private_address_is_not_connected_to(host: str) -> None:
    receiver = WebhookReceiver(Sink("erp", "webhook", f"http://{host}:1/"), {})
    with pytest.raises(DeliveryError, match="cannot post") as caught:
        await receiver.send(DELIVERY)
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
