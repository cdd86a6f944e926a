"""Relay outputs of ONVIF devices."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from functools import cache
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
    read_option,
)
from plate_cameras.setting_parts import Gate

OPTIONS = ("user", "password", "relay", "adjust_time", "verify")
PORTS = {"http": 80, "https": 443}
BISTABLE = "Bistable"
ACTIVE, INACTIVE = "active", "inactive"
PROXIES = ("http_proxy", "https_proxy")
CONNECT_S, ANSWER_S, FIND_S = 3.0, 4.0, 30.0
"""Longest time to connect before an opening, to wait for an answer, and to connect without an
opening. The first connection reads the service's description, which takes seconds on a slow
machine."""
SENDER_FAULTS = ("Sender", "Client")
"""Codes of SOAP 1.2 and 1.1 for a request that was wrong. It was not carried out."""
MAX_BYTES = 1 << 20
"""Largest answer of a device."""


class OnvifRelay:
    """Sets the state of a relay output over the service DeviceIO.

    A monostable output ends its pulse by itself, after the time that the device is set to. A
    bistable one is set to inactive after the pulse, and when the device answers first: a process
    that was killed may have left it active. The password is sent as a digest (WS-UsernameToken).

    Args:
        gate: The gate, with `url` such as `http://10.0.0.5`, and the options `user`, `password`,
            `relay` (token of the output, the first without it) and `adjust_time` (yes).
        environ: The environment variables for `env:NAME`.

    Raises:
        SettingsError: The address or an option is wrong.
        ExtraError: onvif-zeep-async is not installed.
    """

    def __init__(self, gate: Gate, environ: Mapping[str, str]) -> None:
        check_options(gate, OPTIONS)
        self._address = _check_address(gate)
        self._home = urlsplit(gate.url)
        self._user = read_option(gate, "user", environ)
        self._password = read_option(gate, "password", environ)
        self._token = read_option(gate, "relay", environ)
        self._adjusts_time = read_flag(gate, "adjust_time", default=True)
        self._onvif = import_extra(gate, "onvif")
        _limit_transports(
            import_extra(gate, "onvif.client"), import_extra(gate, "onvif.zeep_aiohttp")
        )
        self._lock, self._setting = asyncio.Lock(), asyncio.Lock()
        self._is_known_off = False
        self._camera: Any = None
        self._service: Any = None
        self.needs_off = True
        """Until the device has told its mode, the output may be bistable."""

    async def prepare(self) -> None:
        """Ask for the outputs, and end the pulse of an earlier process, see `Relay`."""
        await self._read_outputs(await self._connect(FIND_S))
        if self.needs_off and not self._is_known_off:
            await self.switch_off()

    async def switch_on(self, request: OpeningRequest) -> None:
        """Set the output to active, see `Relay`."""
        # A check must not cut this pulse short. Its end switches the output off.
        was_known_off, self._is_known_off = self._is_known_off, True
        try:
            await self._set(ACTIVE)
        except NotSwitchedError:  # no pulse has begun
            self._is_known_off = was_known_off
            raise

    async def switch_off(self) -> None:
        """Set the output to inactive, see `Relay`."""
        await self._set(INACTIVE)
        self._is_known_off = True

    async def close(self) -> None:
        camera, self._camera, self._service = self._camera, None, None
        if camera:
            with suppress(Exception):
                await camera.close()

    async def _set(self, state: str) -> None:
        service = await self._connect(CONNECT_S)
        parameters = {"RelayOutputToken": self._token, "LogicalState": state}
        async with self._setting:  # two requests at once may arrive in another order
            await self._ask(service.SetRelayOutputState(parameters))

    async def _connect(self, within_s: float) -> Any:
        """Return the service of the outputs; find it and its outputs at first.

        Raises:
            NotSwitchedError: There is none.
        """
        try:
            return await complete_within(self._connect_once(), within_s)
        except asyncio.TimeoutError as error:
            raise NotSwitchedError(to_sentence("silent_device")) from error
        except RelayError as error:
            raise NotSwitchedError(str(error)) from error
        except Exception as error:  # a hostile answer may raise anything
            raise NotSwitchedError(to_sentence("device", failure=_describe(error))) from error

    async def _connect_once(self) -> Any:
        async with self._lock:
            if self._service is None:
                await self.close()
                self._camera = self._open()
                service = await self._find_service()
                await self._read_outputs(service)
                self._service = service
            return self._service

    def _open(self) -> Any:
        proxies = {name: os.environ[name] for name in PROXIES if name in os.environ}
        camera = self._onvif.ONVIFCamera(
            *self._address,
            self._user or None,
            self._password or None,
            no_cache=True,
            adjust_time=self._adjusts_time,
        )
        camera.rewrite_url = self._lead_home
        os.environ.update(proxies)  # the class deletes them
        return camera

    def _lead_home(self, url: str | None) -> str | None:
        """Return the address that a device gives for a service, at its own host and port."""
        _, _, netloc = self._home.netloc.rpartition("@")
        return url and urlsplit(url)._replace(scheme=self._home.scheme, netloc=netloc).geturl()

    async def _find_service(self) -> Any:
        """Return DeviceIO; devices without it have their outputs in the management service."""
        await self._camera.update_xaddrs()
        try:
            return await self._camera.create_deviceio_service()
        except self._onvif.ONVIFError:
            return await self._camera.create_devicemgmt_service()

    async def _read_outputs(self, service: Any) -> None:
        answer = await self._ask(service.GetRelayOutputs())
        outputs = {output.token: output for output in answer or ()}
        token = self._token or next(iter(outputs), "")
        if token not in outputs:
            tokens = ", ".join(outputs) or "none"
            raise RelayError(f"the device has no relay {token!r}; it has: {tokens}")
        self._token = token
        self.needs_off = str(outputs[token].Properties.Mode) == BISTABLE

    async def _ask(self, answer: Awaitable[Any]) -> Any:
        """Wait for an answer.

        Raises:
            NotSwitchedError: The request has not reached the device, or the device rejects it.
            RelayError: The device does not answer, or with something else.
        """
        try:
            return await complete_within(_wait_for(answer), ANSWER_S)
        except asyncio.TimeoutError as error:
            raise RelayError(to_sentence("silent_device")) from error
        except Exception as error:  # a hostile answer may raise anything
            kind = NotSwitchedError if _is_rejection(error) else RelayError
            raise kind(to_sentence("device", failure=_describe(error))) from error


async def _wait_for(answer: Awaitable[Any]) -> Any:
    return await answer


def _describe(error: Exception) -> str:
    return str(error)[:200] or type(error).__name__


def _is_rejection(error: BaseException | None) -> bool:
    """Tell whether a request has not reached the device, or the device says that it is wrong."""
    from aiohttp import ClientConnectorError, ConnectionTimeoutError
    from zeep.exceptions import Fault, TransportError

    while error is not None:
        if isinstance(error, (ClientConnectorError, ConnectionTimeoutError)):
            return True
        if isinstance(error, Fault):
            return str(error.code).rpartition(":")[2] in SENDER_FAULTS
        if isinstance(error, TransportError):
            return bool(400 <= error.status_code < 500)
        error = error.__cause__
    return False


@cache
def _limit_transports(client: Any, transports: Any) -> None:
    """Let the package send each request once, and read answers up to a limit.

    Its own transport sends a request again when the connection ends without an answer. The device
    may have carried it out.
    """

    class LimitedTransport(transports.AIOHTTPTransport):  # type: ignore[misc]
        async def _post_internal(self, address: str, message: Any, headers: Any) -> Any:
            body = message.encode() if isinstance(message, str) else message
            headers = {"Content-Type": 'text/xml; charset="utf-8"', **(headers or {})}
            posting = self.session.post(address, data=body, headers=headers, allow_redirects=False)
            async with posting as response:
                self.session.cookie_jar.clear()  # a device could fill the memory with them
                content = bytearray()
                async for chunk in response.content.iter_chunked(1 << 16):
                    content += chunk
                    if len(content) > MAX_BYTES:
                        raise RelayError(to_sentence("long_answer", most=MAX_BYTES))
                return response, bytes(content)

    client.AsyncTransportProtocolErrorHandler = LimitedTransport


def _check_address(gate: Gate) -> tuple[str, int]:
    """Return the address and port of a device, as `ONVIFCamera` takes them.

    Raises:
        SettingsError: It has another form, or its certificate would not be checked.
    """
    parts = urlsplit(gate.url)
    if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/"):
        raise SettingsError(f"gate {gate.name}: wanted an address like http://10.0.0.5")
    if parts.scheme == "https" and read_flag(gate, "verify", default=True):
        raise SettingsError(
            f'gate {gate.name}: wanted http://, or verify = "no" beside https://: '
            "certificates of ONVIF devices are not checked"
        )
    port = parts.port or PORTS[parts.scheme]
    if parts.scheme == "http":
        return parts.hostname, port
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"https://{host}", port
