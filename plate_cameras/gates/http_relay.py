"""Relays that an HTTP request switches."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from string import Template
from urllib.parse import quote, urlsplit

import aiohttp

from orchestrator.errors import SettingsError
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.gates.relay import (
    NotSwitchedError,
    OpeningRequest,
    RelayError,
    check_options,
    read_flag,
    read_option,
)
from plate_cameras.secret_settings import describe_without_address
from plate_cameras.setting_parts import Gate

METHODS = ("GET", "POST", "PUT", "PATCH")
HEADER = "header."
"""Options that begin so are headers: `"header.X-Api-Key" = "env:RELAY_KEY"`."""
OPTIONS = ("method", "body", "content_type", "user", "password", "verify", "ca_file")
PLACEHOLDERS = ("text", "gate", "camera", "pass_id", "list")
CONNECT_S, TIMEOUT_S = 1.0, 4.0
"""Longest time until a connection stands, with the name's address and TLS, and until the answer."""
NOT_SENT = aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL
"""Errors before anything of the request was sent: no address, no connection, no trusted TLS."""
TOKEN = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
"""Names of headers. Source: RFC 9110, section 5.6.2."""
FORM = "application/x-www-form-urlencoded"
ESCAPES: dict[str, Callable[[str], str]] = {
    "application/json": lambda value: json.dumps(value)[1:-1],
    FORM: lambda value: quote(value, safe=""),
}
"""Functions that quote values for a body, by its type. A name cannot end the text that contains
it."""


class HttpRelay:
    """Sends one request for each opening. Any 2xx answer is a success.

    A relay that answers 4xx has rejected the request. After any other answer, and without one, it
    may have opened: a redirect is how many devices answer a request that they have carried out.

    The relay ends its pulse by itself. Addresses of private networks are allowed: relays are there.

    Args:
        gate: The gate, with `url` and the options of `OPTIONS`.
        environ: The environment variables for `env:NAME`.

    Raises:
        SettingsError: The address or an option is wrong.
    """

    needs_off = False

    def __init__(self, gate: Gate, environ: Mapping[str, str]) -> None:
        parts = urlsplit(gate.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(f"gate {gate.name}: wanted an http:// or https:// address")
        check_options(gate, OPTIONS, prefix=HEADER)
        self._url = gate.url
        self._method = read_option(gate, "method", environ) or "POST"
        if self._method not in METHODS:
            methods = ", ".join(METHODS)
            raise SettingsError(f"gate {gate.name}: method: wanted {methods}, got {self._method!r}")
        self._type = read_option(gate, "content_type", environ) or "application/json"
        self._body = _read_body(gate, environ, self._type)
        self._headers = _read_headers(gate, environ)
        self._context = _make_context(gate, environ)
        self._session: aiohttp.ClientSession | None = None

    async def prepare(self) -> None:
        """Do nothing: a request would open the gate."""

    async def switch_on(self, request: OpeningRequest) -> None:
        values = {name: self._escape(getattr(request, name)) for name in PLACEHOLDERS}
        body = self._body.substitute(values).encode() or None
        headers = self._headers | ({"content-type": self._type} if body else {})
        try:
            async with self._open().request(
                self._method, self._url, data=body, headers=headers, allow_redirects=False
            ) as response:
                status = response.status
        except RelayError:
            raise
        except NOT_SENT as error:
            raise NotSwitchedError(
                to_sentence("unreachable", failure=describe_without_address(error))
            ) from error
        except asyncio.TimeoutError as error:
            raise RelayError(to_sentence("silent")) from error
        except Exception as error:  # a hostile answer may raise anything
            raise RelayError(
                to_sentence("lost", failure=describe_without_address(error))
            ) from error
        if 400 <= status < 500:
            raise NotSwitchedError(to_sentence("status", status=status))
        if not 200 <= status < 300:
            raise RelayError(to_sentence("status", status=status))

    async def switch_off(self) -> None:
        """Do nothing: the relay ends its pulse by itself."""

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    def _escape(self, value: str) -> str:
        escape = ESCAPES.get(self._type)
        return escape(value) if escape else value

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._context, force_close=True),
                middlewares=(_send_once,),
                cookie_jar=aiohttp.DummyCookieJar(),  # a device could fill the memory with them
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=TIMEOUT_S, connect=CONNECT_S),
                trust_env=False,
            )
        return self._session


async def _send_once(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Send a request. aiohttp would send a GET or PUT again when the connection ends early."""
    try:
        return await send(request)
    except NOT_SENT:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise RelayError(to_sentence("lost", failure=describe_without_address(error))) from error


def _read_body(gate: Gate, environ: Mapping[str, str], content_type: str) -> Template:
    body = Template(read_option(gate, "body", environ))
    try:
        body.substitute(dict.fromkeys(PLACEHOLDERS, ""))
    except (KeyError, ValueError) as error:
        names = ", ".join(f"${name}" for name in PLACEHOLDERS)
        raise SettingsError(f"gate {gate.name}: body: wanted {names} or $$, got {error}") from error
    if "$" in body.template.replace("$$", "") and content_type not in ESCAPES:
        types = " or ".join(ESCAPES)
        raise SettingsError(
            f"gate {gate.name}: content_type: wanted {types} for a body with names, "
            f"got {content_type!r}"
        )
    return body


def _read_headers(gate: Gate, environ: Mapping[str, str]) -> dict[str, str]:
    names = [name for name in gate.options if name.startswith(HEADER)]
    headers = {name.removeprefix(HEADER): read_option(gate, name, environ) for name in names}
    for name, value in headers.items():
        if not TOKEN.fullmatch(name) or not value.isprintable():
            raise SettingsError(f"gate {gate.name}: {HEADER}{name}: wanted a header of one line")
    if user := read_option(gate, "user", environ):
        login = f"{user}:{read_option(gate, 'password', environ)}".encode()
        headers["authorization"] = f"Basic {b64encode(login).decode()}"
    return headers


def _make_context(gate: Gate, environ: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Return how certificates are checked; False for not at all."""
    if not read_flag(gate, "verify", default=True):
        return False
    file = read_option(gate, "ca_file", environ)
    try:
        return ssl.create_default_context(cafile=Path(file) if file else None)
    except OSError as error:  # ssl.SSLError is one, too
        raise SettingsError(f"gate {gate.name}: ca_file: {error}") from error
