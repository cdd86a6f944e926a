"""Relays that a coil of Modbus TCP switches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import Any
from urllib.parse import urlsplit

from orchestrator.errors import SettingsError
from plate_cameras.clocks import complete_within
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.gates.relay import (
    NotSwitchedError,
    OpeningRequest,
    RelayError,
    check_options,
    import_extra,
    read_flag,
    read_number,
)
from plate_cameras.setting_parts import Gate

OPTIONS = ("coil", "unit", "ends_pulse")
PORT = 502
ANSWER_S = 1.2
"""Longest wait for a connection or an answer."""
CONNECT_S = 1.5
"""Longest wait for a connection, with the name's address."""
MAX_BYTES = 1024
"""Largest number of received bytes that are not yet parsed; a frame has 260 at most. A device that
sends more would occupy the loop of all gates."""
WRITE_COIL = 5
"""Function code of the request that switches."""
NOT_DONE = {1, 2, 3, 6, 10}
"""Codes of answers to requests that were not carried out: function, address or value are wrong, the
device is busy, a gateway has no way. After the others, such as a device behind a gateway that does
not answer, the coil may be on. Source: Modbus Application Protocol 1.1b3, section 7."""


class ModbusRelay:
    """Writes a coil: on, and off after the pulse unless the relay ends it by itself.

    The coil is switched off when the connection is made first: a process that was killed may have
    left it on.

    Args:
        gate: The gate, with `url` such as `modbus://10.0.0.9:502`, and the options `coil` (0),
            `unit` (1) and `ends_pulse` (no).

    Raises:
        SettingsError: The address or an option is wrong.
        ExtraError: pymodbus is not installed.
    """

    def __init__(self, gate: Gate, _: Mapping[str, str]) -> None:
        parts = urlsplit(gate.url)
        if parts.scheme != "modbus" or not parts.hostname:
            raise SettingsError(f"gate {gate.name}: wanted an address like modbus://10.0.0.9:502")
        check_options(gate, OPTIONS)
        self.needs_off = not read_flag(gate, "ends_pulse", default=False)
        self._coil = read_number(gate, "coil", default=0, max_value=65535)
        self._unit = read_number(gate, "unit", default=1, max_value=247)
        self._address = parts.hostname, parts.port or PORT
        self._address_text = f"{parts.hostname}:{parts.port or PORT}"
        import_extra(gate, "pymodbus")
        logging.getLogger("pymodbus").setLevel(logging.CRITICAL)  # its errors hold whole packets
        self._clients = import_extra(gate, "pymodbus.client")
        self._client: Any = None
        self._lock = asyncio.Lock()
        self._is_known_off = not self.needs_off

    async def prepare(self) -> None:
        """Read the coil, and switch it off at first, see `Relay`."""
        client = await self._connect()
        if not self._is_known_off:
            await self.switch_off()
        await self._ask(client.read_coils(self._coil, count=1, device_id=self._unit))

    async def switch_on(self, request: OpeningRequest) -> None:
        """Write the coil, see `Relay`."""
        # A check must not cut this pulse short. Its end switches the coil off.
        was_known_off, self._is_known_off = self._is_known_off, True
        try:
            await self._write(is_on=True)
        except NotSwitchedError:  # no pulse has begun
            self._is_known_off = was_known_off
            raise

    async def switch_off(self) -> None:
        await self._write(is_on=False)
        self._is_known_off = True

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            client.close()

    async def _write(self, *, is_on: bool) -> None:
        client = await self._connect()
        echo = await self._ask(client.write_coil(self._coil, is_on, device_id=self._unit))
        # Source: Modbus Application Protocol 1.1b3, section 6.5: the answer repeats the request.
        written = echo.function_code, echo.address, echo.bits[:1]
        if written != (WRITE_COIL, self._coil, [is_on]):
            raise RelayError(to_sentence("other_answer"))

    async def _connect(self) -> Any:
        """Return the client with its connection.

        Raises:
            NotSwitchedError: There is no connection.
        """
        try:
            return await complete_within(self._connect_once(), CONNECT_S)
        except NotSwitchedError:
            raise
        except asyncio.TimeoutError as error:
            raise NotSwitchedError(to_sentence("connection", address=self._address_text)) from error
        except Exception as error:
            failure = type(error).__name__
            raise NotSwitchedError(to_sentence("unreachable", failure=failure)) from error

    async def _connect_once(self) -> Any:
        async with self._lock:
            if self._client and self._client.connected:
                return self._client
            await self.close()
            host, port = self._address
            client: Any = self._clients.AsyncModbusTcpClient(
                host,
                port=port,
                timeout=ANSWER_S,
                retries=0,
                reconnect_delay=0,
                trace_packet=lambda is_sent, packet: _limit(client, packet, is_sent=is_sent),
            )
            if not await client.connect():
                client.close()
                raise NotSwitchedError(to_sentence("connection", address=self._address_text))
            self._client = client
            return client

    async def _ask(self, answer: Awaitable[Any]) -> Any:
        """Return the answer; a connection without one is not used again.

        Raises:
            NotSwitchedError: The request was not carried out.
            RelayError: It may have been.
        """
        try:
            response = await answer
            is_error, code = response.isError(), getattr(response, "exception_code", 0)
        except asyncio.CancelledError:
            await self.close()
            raise
        except Exception as error:  # a hostile answer may raise anything
            await self.close()
            raise RelayError(to_sentence("silent")) from error
        if is_error:
            kind = NotSwitchedError if code in NOT_DONE else RelayError
            raise kind(to_sentence("rejected", failure=response))
        return response


def _limit(client: Any, packet: bytes, *, is_sent: bool) -> bytes:
    """Return what waits to be understood, or end the connection if that is too much."""
    if is_sent or len(packet) <= MAX_BYTES:
        return packet
    client.close()
    return b""
