"""The HTTP transport for asyncio: tritonclient's codec for KServe v2, with aiohttp."""

from __future__ import annotations

import asyncio
import io
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import BadStatusLine, RemoteDisconnected
from types import SimpleNamespace
from typing import Any

import aiohttp

from orchestrator.client.addresses import Address
from orchestrator.client.connections import CONNECTIONS
from orchestrator.client.inference import (
    CONFIG_PATH,
    READY_PATHS,
    HttpResponse,
    InferenceRequest,
    read_config,
    read_http,
    write_http,
)
from orchestrator.client.tls import make_context
from orchestrator.client.transport import NO_HEADERS
from orchestrator.contract import Arrays

NOT_OURS = ("Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that aiohttp must not add. Answers must not be compressed."""
DROPPED = (
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientOSError,
    aiohttp.ClientConnectionResetError,
)
"""aiohttp's errors for a connection that the server has closed."""


class AioHttpTransport:
    """The HTTP transport of one event loop. It must be created while that loop runs.

    If there are more calls at once than `CONNECTIONS`, the others wait for a connection.
    """

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        self._base = f"{'https' if address.is_tls else 'http'}://{address.host}:{address.port}"
        self._base += address.base
        tracing = aiohttp.TraceConfig()
        tracing.on_connection_reuseconn.append(_note_reuse)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=CONNECTIONS, ssl=make_context() if address.is_tls else True
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=dict(headers),
            skip_auto_headers=NOT_OURS,
            trace_configs=[tracing],
        )

    async def infer(self, call: InferenceRequest, timeout_s: float) -> Arrays:
        ends = time.monotonic() + timeout_s
        path, body, headers = write_http(call)
        return read_http(await self._send("POST", path, ends, body, headers), call)

    async def is_ready(self, timeout_s: float) -> bool:
        ends = time.monotonic() + timeout_s
        for path in READY_PATHS:
            if (await self._send("GET", path, ends)).status != 200:
                return False
        return True

    async def config(self, timeout_s: float) -> dict[str, Any]:
        return read_config(await self._send("GET", CONFIG_PATH, time.monotonic() + timeout_s))

    async def close(self) -> None:
        await self._session.close()

    async def _send(
        self,
        method: str,
        path: str,
        ends: float,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> HttpResponse:
        """Send a request. Retry it once if a reused connection turns out to be closed.

        `Connection.getresponse` does the same, and explains the reasons.
        """
        seen = SimpleNamespace(is_reused=False)
        with _told_as_pythons_own():
            try:
                return await self._exchange(method, path, ends, body, headers, seen)
            except DROPPED:
                if not seen.is_reused:
                    raise
            return await self._exchange(method, path, ends, body, headers, seen)

    async def _exchange(
        self,
        method: str,
        path: str,
        ends: float,
        body: bytes | None,
        headers: Mapping[str, str],
        seen: SimpleNamespace,
    ) -> HttpResponse:
        left_s = ends - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        async with self._session.request(
            method,
            f"{self._base}/{path}",
            data=None if body is None else io.BytesIO(body),  # bytes would go out in one write
            headers=headers,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=left_s, ceil_threshold=left_s),
            trace_request_ctx=seen,
        ) as answer:
            return HttpResponse(answer.status, answer.headers, await answer.read())


async def _note_reuse(_session: object, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.is_reused = True


@contextmanager
def _told_as_pythons_own() -> Iterator[None]:
    """Raise aiohttp's errors as those of Python's own HTTP, which `translate_errors` knows."""
    try:
        yield
    except asyncio.TimeoutError as error:  # not TimeoutError before Python 3.11
        raise TimeoutError("timed out") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise error.certificate_error from error
    except aiohttp.ClientConnectorError as error:
        raise _name(error.os_error) from error
    except aiohttp.ServerDisconnectedError as error:
        raise RemoteDisconnected("Remote end closed connection without response") from error
    except aiohttp.ClientResponseError as error:
        raise BadStatusLine(error.message) from error
    except aiohttp.ClientOSError:
        raise
    except aiohttp.ClientError as error:
        raise ConnectionError(str(error) or type(error).__name__) from error


def _name(error: OSError) -> OSError:
    """Return an error with the system's message. asyncio always says "Connect call failed"."""
    if isinstance(error, ConnectionError) and error.errno:
        return OSError(error.errno, os.strerror(error.errno))
    return error
