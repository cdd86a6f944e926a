"""Relay outputs of an ONVIF device, with the client that follows the WSDL."""

import asyncio
import gzip
import logging
import os
import socket
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator

import pytest
from aiohttp import web
from lxml import etree

from orchestrator.errors import SettingsError
from plate_cameras.gates.relay import NotSwitchedError, OpeningRequest, RelayError
from tests.plate_cameras.gates.known_vehicles import make_gate

pytest.importorskip("onvif", reason="the extra gates is not installed")
from plate_cameras.gates import onvif_relay
from plate_cameras.gates.onvif_relay import OnvifRelay
from tests.plate_cameras.gates.onvif_device import PASSWORD, USER, OnvifDevice

pytestmark = pytest.mark.server
REQUEST = OpeningRequest("north")
IO, MANAGEMENT = "/onvif/io", "/onvif/device_service"


def run(
    device: OnvifDevice, act: Callable[[OnvifRelay], Awaitable[None]], **options: str
) -> OnvifRelay:
    """Run a coroutine function with a relay of the device."""
    relays = []

    async def main() -> None:
        app = web.Application()
        app.router.add_post("/{path:.*}", device.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        device.port = runner.addresses[0][1]
        login = {"user": USER, "password": "env:WORD", **options}
        gate = make_gate(type="onvif", url=f"http://127.0.0.1:{device.port}", options=login)
        relay = OnvifRelay(gate, {"WORD": PASSWORD})
        relays.append(relay)
        try:
            await act(relay)
        finally:
            await relay.close()
            await runner.cleanup()

    asyncio.run(main())
    return relays[0]


@pytest.fixture(autouse=True)
def _keep_logging_and_proxies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check after each test that the package left the process as it was."""
    monkeypatch.setenv("http_proxy", "http://proxy.example")
    level = logging.getLogger().level
    yield
    assert os.environ["http_proxy"] == "http://proxy.example"
    assert logging.getLogger().level == level


async def open_once(relay: OnvifRelay) -> None:
    await relay.prepare()
    await relay.switch_on(REQUEST)


@pytest.mark.parametrize(
    ("device", "path", "states"),
    [
        pytest.param(OnvifDevice(), IO, ["inactive", "active", "inactive"], id="bistable"),
        pytest.param(OnvifDevice("Monostable"), IO, ["active"], id="it ends its pulse"),
        pytest.param(
            OnvifDevice(has_io=False),
            MANAGEMENT,
            ["inactive", "active", "inactive"],
            id="management",
        ),
    ],
)
def test_an_output_is_switched_as_its_device_has_it(
    device: OnvifDevice, path: str, states: list[str]
) -> None:
    async def act(relay: OnvifRelay) -> None:
        await open_once(relay)
        if relay.needs_off:
            await relay.switch_off()

    run(device, act)
    assert device.states == [(path, state) for state in states]
    assert device.rejections == []


def test_an_output_that_a_killed_process_left_on_is_switched_off_once() -> None:
    async def act(relay: OnvifRelay) -> None:
        await relay.prepare()
        await relay.prepare()

    device = OnvifDevice()
    run(device, act)
    assert device.states == [(IO, "inactive")]


def test_the_check_of_a_device_cuts_no_pulse_short() -> None:
    async def act(relay: OnvifRelay) -> None:
        await open_once(relay)
        await relay.prepare()

    device = OnvifDevice()
    run(device, act)
    assert device.states == [(IO, "inactive"), (IO, "active")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"password": "wrong"}, "not Authorized", id="password"),
        pytest.param({"relay": "out-9"}, "no relay 'out-9'; it has: out-1", id="token"),
    ],
)
def test_what_the_device_does_not_accept_is_told(options: dict[str, str], message: str) -> None:
    device = OnvifDevice()
    with pytest.raises(RelayError, match=message):
        run(device, open_once, **options)
    assert device.states == []


BOMB = b"""<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>
<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body>&b;</s:Body></s:Envelope>"""
FAULT = b"""<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><s:Fault><s:Code>
<s:Value>s:Receiver</s:Value></s:Code><s:Reason><s:Text>broken</s:Text></s:Reason></s:Fault></s:Body>
</s:Envelope>"""
HOSTILE = [
    pytest.param(None, id="no-answer"),
    pytest.param((500, FAULT), id="its-own-fault"),
    pytest.param((200, b"<html>hello</html>"), id="html"),
    pytest.param((200, b""), id="empty"),
    pytest.param((200, b"<a>" * 100_000), id="deep"),
    pytest.param((200, b"x" * 3_000_000), id="long"),
    pytest.param((200, BOMB), id="entities"),
    pytest.param((302, b""), id="redirect"),
]


@pytest.mark.parametrize("answer", HOSTILE)
def test_without_a_clear_answer_the_output_may_be_on(answer: tuple[int, bytes] | None) -> None:
    device = OnvifDevice("Monostable", hostile={"SetRelayOutputState": answer})
    with pytest.raises(RelayError) as caught:
        run(device, open_once)
    assert not isinstance(caught.value, NotSwitchedError)
    assert device.states == [(IO, "active")]


@pytest.mark.parametrize("answer", HOSTILE)
@pytest.mark.parametrize("operation", ["GetSystemDateAndTime", "GetServices", "GetRelayOutputs"])
def test_a_device_that_answers_badly_before_is_a_failure(
    operation: str, answer: tuple[int, bytes] | None
) -> None:
    device = OnvifDevice(hostile={operation: answer})

    async def act(relay: OnvifRelay) -> None:
        with pytest.raises(RelayError):
            await relay.prepare()
        with pytest.raises(NotSwitchedError):
            await relay.switch_on(REQUEST)

    run(device, act)
    assert device.states == []


def test_a_device_that_does_not_answer_may_have_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(OnvifDevice):
        async def answer(self, request: web.Request) -> web.Response:
            answer = await super().answer(request)
            if self.states:
                await asyncio.sleep(1)
            return answer

    monkeypatch.setattr(onvif_relay, "ANSWER_S", 0.5)
    device = Slow("Monostable")
    with pytest.raises(RelayError, match="the device does not answer") as caught:
        run(device, open_once)
    assert not isinstance(caught.value, NotSwitchedError)
    assert device.states == [(IO, "active")]


async def test_a_device_that_is_away_is_told(free_port: int) -> None:
    relay = OnvifRelay(make_gate(type="onvif", url=f"http://127.0.0.1:{free_port}"), {})
    with pytest.raises(RelayError, match="the device"):
        await relay.switch_on(REQUEST)
    await relay.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("onvif://10.0.0.5", "wanted an address like http"),
        ("http://10.0.0.5/onvif/device_service", "wanted an address like http"),
        ("https://10.0.0.5", "certificates of ONVIF devices are not checked"),
    ],
)
def test_wrong_addresses_are_told(url: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        OnvifRelay(make_gate(type="onvif", url=url), {})


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:{}", "https://127.0.0.1:{}", "rtsp://u:p@127.0.0.1:{}"]
)
def test_a_device_does_not_lead_elsewhere(address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bystander:
        bystander.setblocking(False)
        there = address.format(bystander.getsockname()[1])

        class Leading(OnvifDevice):
            def tell_services(self, path: str, operation: etree._Element) -> str:
                here = f"http://127.0.0.1:{self.port}"
                return super().tell_services(path, operation).replace(here, there)

        device = Leading("Monostable")
        run(device, open_once)
        assert device.states == [(IO, "active")]
        with pytest.raises(BlockingIOError):
            bystander.accept()


def test_the_text_of_a_device_is_told_in_one_line() -> None:
    text = FAULT.replace(
        b"broken", b"broken\n2026-01-01 gate north: opened\r\n&#x9b;31m&#x202e; end"
    )
    device = OnvifDevice("Monostable", hostile={"SetRelayOutputState": (500, text)})
    with pytest.raises(RelayError, match="broken 2026-01-01 gate north: opened") as caught:
        run(device, open_once)
    assert str(caught.value).isprintable()


def test_the_cookies_of_a_device_are_not_kept() -> None:
    cookies: list[str] = []

    class Baking(OnvifDevice):
        async def answer(self, request: web.Request) -> web.Response:
            cookies.append(request.headers.get("Cookie", ""))
            answer = await super().answer(request)
            answer.set_cookie("much", "x" * 4000)
            return answer

    device = Baking("Monostable")
    run(device, open_once)
    assert device.states == [(IO, "active")]
    assert {*cookies} == {""}


def test_a_small_answer_that_becomes_large_takes_little_memory() -> None:
    class Packing(OnvifDevice):
        async def answer(self, request: web.Request) -> web.Response:
            return web.Response(body=bomb, headers={"Content-Encoding": "gzip"})

    bomb = gzip.compress(bytes(100_000_000))
    tracemalloc.start()
    with pytest.raises(RelayError, match="longer than"):
        run(Packing(), open_once)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000
