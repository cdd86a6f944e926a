"""Relays over Modbus TCP, with pymodbus's own server."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from orchestrator.errors import ExtraError, SettingsError
from plate_cameras.gates.modbus_relay import ModbusRelay
from plate_cameras.gates.relay import NotSwitchedError, OpeningRequest, RelayError, make_relay
from tests.plate_cameras.gates.known_vehicles import make_gate
from tests.plate_cameras.streams import wait

pytest.importorskip("pymodbus", reason="the extra gates is not installed")
from pymodbus.pdu.bit_message import WriteSingleCoilRequest
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

REQUEST = OpeningRequest("north")
ECHO = b"<id>\x00\x00\x00\x06\x01"


def make_modbus_gate(port: int, **options: str) -> Any:
    return make_gate(type="modbus", url=f"modbus://127.0.0.1:{port}", options=options)


@asynccontextmanager
async def serving(port: int) -> AsyncIterator[list[tuple[int, int, bool]]]:
    """Run a server of unit 3 with 8 coils; yield unit, coil and value of each write."""
    writes: list[tuple[int, int, bool]] = []

    def trace(sending: bool, pdu: Any) -> Any:
        if isinstance(pdu, WriteSingleCoilRequest) and not sending:
            writes.append((pdu.dev_id, pdu.address, pdu.bits[0]))
        return pdu

    bits = SimData(0, count=16, values=False, datatype=DataType.BITS)
    words = SimData(0, count=16, values=0, datatype=DataType.REGISTERS)
    device = SimDevice(3, simdata=([bits], [bits], [words], [words]))
    server = ModbusTcpServer(device, address=("127.0.0.1", port), trace_pdu=trace)
    await server.serve_forever(background=True)
    try:
        yield writes
    finally:
        await server.shutdown()


async def test_the_coil_is_off_at_first_then_on_and_off(free_port: int) -> None:
    relay = ModbusRelay(make_modbus_gate(free_port, coil="5", unit="3"), {})
    async with serving(free_port) as writes:
        await relay.prepare()
        await relay.prepare()
        await relay.switch_on(REQUEST)
        await relay.switch_off()
        await relay.close()
    assert writes == [(3, 5, False), (3, 5, True), (3, 5, False)]
    assert relay.needs_off


async def test_a_relay_that_ends_its_pulse_is_only_switched_on(free_port: int) -> None:
    relay = ModbusRelay(make_modbus_gate(free_port, unit="3", ends_pulse="yes"), {})
    async with serving(free_port) as writes:
        await relay.prepare()
        await relay.switch_on(REQUEST)
        await relay.close()
    assert writes == [(3, 0, True)]
    assert not relay.needs_off


@pytest.mark.parametrize("opens_again", [True, False])
async def test_a_relay_that_was_away_is_found_again_and_left_off(
    free_port: int, *, opens_again: bool
) -> None:
    """A process that was killed may have left its coil on."""
    relay = ModbusRelay(make_modbus_gate(free_port, unit="3"), {})
    with pytest.raises(NotSwitchedError, match="cannot connect"):
        await relay.switch_on(REQUEST)
    async with serving(free_port) as writes:
        await (relay.switch_on(REQUEST) if opens_again else relay.prepare())
        await relay.close()
    assert writes == [(3, 0, opens_again)]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(b"", "does not answer", id="none"),
        pytest.param(b"\x00" * 5000, "does not answer", id="no-modbus"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 99, "does not answer", id="http"),
        pytest.param(b"<id>\x00\x00\x00\x03\x01\x85\x04", "refuses", id="device-failure"),
        pytest.param(b"<id>\x00\x00\x00\x03\x01\x85\x0b", "refuses", id="behind-a-gateway"),
        pytest.param(ECHO + b"\x05\x00\x00\x00\x00", "something else", id="still-off"),
        pytest.param(ECHO + b"\x05\x00\x09\xff\x00", "something else", id="another-coil"),
        pytest.param(b"<id>\x00\x00\x00\x04\x01\x01\x01\x01", "something else", id="of-a-read"),
    ],
)
async def test_without_a_clear_answer_the_coil_may_be_on(answer: bytes, message: str) -> None:
    requests: list[bytes] = []

    async def serve_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.read(256))
        writer.write(answer.replace(b"<id>", requests[0][:2]))
        writer.close()

    server = await asyncio.start_server(serve_once, "127.0.0.1", 0)
    relay = ModbusRelay(make_modbus_gate(server.sockets[0].getsockname()[1]), {})
    with pytest.raises(RelayError, match=message) as caught:
        await relay.switch_on(REQUEST)
    assert not isinstance(caught.value, NotSwitchedError)
    await relay.close()
    server.close()
    assert len(requests) == 1


async def test_a_device_that_sends_without_end_is_left() -> None:
    ends: list[str] = []

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while True:
                writer.write(b"\x00" * 65536)
                await writer.drain()
        ends.append("cut off")

    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    relay = ModbusRelay(make_modbus_gate(server.sockets[0].getsockname()[1]), {})
    with pytest.raises(RelayError, match="does not answer"):
        await relay.switch_on(REQUEST)
    await wait(lambda: ends, "the end of the connection")
    await relay.close()
    server.close()


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        pytest.param("http://relay", {}, "wanted an address like modbus", id="scheme"),
        pytest.param("modbus://relay", {"coil": "-1"}, "coil: wanted 0 to 65535", id="coil"),
        pytest.param("modbus://relay", {"unit": "300"}, "unit: wanted 0 to 247", id="unit"),
        pytest.param("modbus://relay", {"coils": "1"}, "wanted some of", id="unknown"),
    ],
)
def test_wrong_settings_are_told(url: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        ModbusRelay(make_gate(type="modbus", url=url, options=options), {})


@pytest.mark.parametrize(
    ("kind", "url", "module"),
    [("modbus", "modbus://relay", "pymodbus"), ("onvif", "http://relay", "onvif")],
)
def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, kind: str, url: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ExtraError, match=rf"gate north: type {kind} needs a package that `make cameras` installs"
    ):
        make_relay(make_gate(type=kind, url=url), {})
