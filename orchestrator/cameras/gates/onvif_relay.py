"""Relay outputs of ONVIF devices."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from orchestrator.cameras.gate_settings import Gate
from orchestrator.cameras.gates.extras import import_extra
from orchestrator.cameras.gates.options import check_options, read_flag, read_option
from orchestrator.cameras.gates.reasons import to_sentence
from orchestrator.cameras.gates.relay import OpeningRequest, RelayError
from orchestrator.errors import SettingsError

OPTIONS = ("user", "password", "relay", "adjust_time", "verify")
PORTS = {"http": 80, "https": 443}
BISTABLE = "Bistable"
ACTIVE, INACTIVE = "active", "inactive"
PROXIES = ("http_proxy", "https_proxy")


class OnvifRelay:
    """Sets the state of a relay output over the service DeviceIO.

    A monostable output ends its pulse by itself, after the time that the device is set to. A
    bistable one is set to inactive after the pulse. The password is sent as a digest
    (WS-UsernameToken).

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
        self._user = read_option(gate, "user", environ)
        self._password = read_option(gate, "password", environ)
        self._token = read_option(gate, "relay", environ)
        self._adjusts_time = read_flag(gate, "adjust_time", default=True)
        self._onvif = import_extra(gate, "onvif")
        self._failures = (
            import_extra(gate, "zeep.exceptions").Error,
            import_extra(gate, "aiohttp").ClientError,
            self._onvif.ONVIFError,
            OSError,
            asyncio.TimeoutError,
        )
        self._connecting = asyncio.Lock()
        self._camera: Any = None
        self._service: Any = None
        self.needs_off = True
        """Until the device has told its mode, the output may be bistable."""

    async def prepare(self) -> None:
        """Ask for the outputs, see `Relay`."""
        await self._read_outputs(await self._connect())

    async def switch_on(self, request: OpeningRequest) -> None:
        """Set the output to active, see `Relay`."""
        await self._set(ACTIVE)

    async def switch_off(self) -> None:
        """Set the output to inactive, see `Relay`."""
        await self._set(INACTIVE)

    async def close(self) -> None:
        """Close the connections."""
        camera, self._camera, self._service = self._camera, None, None
        if camera:
            with suppress(*self._failures):
                await camera.close()

    async def _set(self, state: str) -> None:
        service = await self._connect()
        parameters = {"RelayOutputToken": self._token, "LogicalState": state}
        await self._ask(service.SetRelayOutputState(parameters))

    async def _connect(self) -> Any:
        """Return the service of the outputs; find it and its outputs at first."""
        async with self._connecting:
            if self._service is None:
                await self.close()
                self._camera = self._open()
                service = await self._ask(self._find_service())
                await self._read_outputs(service)
                self._service = service
            return self._service

    def _open(self) -> Any:
        kept = {name: os.environ[name] for name in PROXIES if name in os.environ}
        camera = self._onvif.ONVIFCamera(
            *self._address,
            self._user or None,
            self._password or None,
            no_cache=True,
            adjust_time=self._adjusts_time,
            # A device may not lead elsewhere; the package can hold only plain hosts to this.
            nat_override="://" not in self._address[0],
        )
        os.environ.update(kept)  # the class deletes them
        return camera

    async def _find_service(self) -> Any:
        """Return DeviceIO; devices without it have their outputs in the management service."""
        await self._camera.update_xaddrs()
        try:
            return await self._camera.create_deviceio_service()
        except self._onvif.ONVIFError:
            return await self._camera.create_devicemgmt_service()

    async def _read_outputs(self, service: Any) -> None:
        outputs = await self._ask(service.GetRelayOutputs())
        found = {one.token: one for one in outputs or ()}
        token = self._token or next(iter(found), "")
        if token not in found:
            known = ", ".join(found) or "none"
            raise RelayError(f"the device has no relay {token!r}; it has: {known}")
        self._token = token
        self.needs_off = str(found[token].Properties.Mode) == BISTABLE

    async def _ask(self, answer: Awaitable[Any]) -> Any:
        """Wait for an answer.

        Raises:
            RelayError: The device is away, refuses, or answers with something else.
        """
        try:
            return await answer
        except asyncio.TimeoutError as error:
            raise RelayError(to_sentence("silent_device")) from error
        except self._failures as error:
            failure = str(error) or type(error).__name__
            raise RelayError(to_sentence("device", failure=failure)) from error


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
