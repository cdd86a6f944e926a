"""HTTP requests to cameras: with the login that each wants, and with limits."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from urllib.parse import unquote, urlsplit

import aiohttp
from yarl import URL

from plate_cameras.sources.network.addresses import Address, make_tls_context
from plate_cameras.sources.network.failures import (
    AGAIN,
    CLOSED,
    NO_DATA,
    REFUSED,
    UNREACHABLE,
    UNTRUSTED,
    SourceError,
    describe_redirect,
    describe_status,
)
from plate_cameras.sources.network.policy import MAX_REDIRECTS, follow

REDIRECTS = (301, 302, 303, 307, 308)
MAX_BYTES = 20_000_000
"""Largest picture."""


class HttpClient:
    """Requests one address over one connection, with the login that the camera wants."""

    def __init__(self, address: Address) -> None:
        parts = urlsplit(address.url)
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._url = address.url
        self._context = make_tls_context(address)
        self._session: aiohttp.ClientSession | None = None
        self._login: dict[str, str] = {}

    async def fetch(self) -> bytes:
        """Return the picture. Redirects are followed as `policy.follow` allows.

        Raises:
            SourceError: The answer is no picture.
            aiohttp.ClientError, OSError, ValueError: There is no answer, or none in HTTP.
        """
        url = self._url
        for _ in range(MAX_REDIRECTS + 1):
            async with await self._request(url) as response:
                location = _location_of(response)
                if location is None:
                    return await _read(response)
                target = follow(url, location)
            if target is None:
                raise SourceError(describe_redirect(location))
            url = target
        raise SourceError(AGAIN)

    async def find_location(self) -> str | None:
        """Return where the address redirects to; None if it does not."""
        async with await self._request(self._url) as response:
            return _location_of(response)

    async def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            await self._session.close()

    async def _request(self, url: str) -> aiohttp.ClientResponse:
        """Return the answer, after the login if one is wanted."""
        response = await self._get(url)
        if response.status == 401 and self._may_login(response):
            login = b64encode(f"{self._user}:{self._password}".encode()).decode()
            self._login = {"Authorization": f"Basic {login}"}
            response.close()
            response = await self._get(url)
        return response

    async def _get(self, url: str) -> aiohttp.ClientResponse:
        return await self._get_session().get(
            URL(url).with_user(None), headers=self._login, ssl=self._context, allow_redirects=False
        )

    def _get_session(self) -> aiohttp.ClientSession:
        """Return the session. A digest login is answered by itself; a basic one by `_request`."""
        if self._session is None:
            digest = aiohttp.DigestAuthMiddleware(self._user, self._password)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=1),
                cookie_jar=aiohttp.DummyCookieJar(),
                middlewares=(digest,) if self._user else (),
                auto_decompress=False,  # a small body could become a very large one
            )
        return self._session

    def _may_login(self, response: aiohttp.ClientResponse) -> bool:
        challenges = " ".join(response.headers.getall("WWW-Authenticate", [])).lower()
        return bool(self._user) and not self._login and "basic" in challenges


def find_location(address: Address, timeout_s: float) -> str | None:
    """Return where an address redirects to; None if it does not, or gives no answer."""

    async def find() -> str | None:
        client = HttpClient(address)
        try:
            return await asyncio.wait_for(client.find_location(), timeout_s)
        finally:
            await client.close()

    try:
        return asyncio.run(find())
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError):
        return None


def describe_failure(error: Exception) -> str:
    """Return a sentence. The text of the error may hold the URL and is not used."""
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return NO_DATA
    if isinstance(error, aiohttp.ClientSSLError):
        return UNTRUSTED
    if isinstance(error, aiohttp.ClientConnectorError):
        is_refused = isinstance(error.os_error, ConnectionRefusedError)
        return REFUSED if is_refused else UNREACHABLE
    if isinstance(error, (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, OSError)):
        return CLOSED
    return "its answer is no HTTP"


def _location_of(response: aiohttp.ClientResponse) -> str | None:
    return response.headers.get("Location", "") if response.status in REDIRECTS else None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    if response.status != 200:
        raise SourceError(describe_status(response.status))
    picture = bytearray()
    async for chunk in response.content.iter_chunked(1 << 16):
        picture += chunk
        if len(picture) > MAX_BYTES:
            raise SourceError(f"wanted a picture of at most {MAX_BYTES / 1e6:g} MB, got more")
    return bytes(picture)
