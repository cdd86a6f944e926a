"""HTTP connections for asyncio, with aiohttp."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from http.client import BadStatusLine, RemoteDisconnected
from types import SimpleNamespace

import aiohttp

from orchestrator.client.http_connections import CONNECTIONS
from orchestrator.client.inference import HttpResponse, OutgoingRequest, check_size
from orchestrator.client.server_address import ServerAddress
from orchestrator.client.sockets import make_context

SKIPPED_HEADERS = ("Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that aiohttp must not add. Responses must not be compressed."""
CLOSED_BY_SERVER = (
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientOSError,
    aiohttp.ClientConnectionResetError,
)
"""aiohttp's errors for a connection that the server has closed."""


class AioHttpConnections:
    """HTTP connections of one event loop. They must be created while that loop runs.

    If there are more requests at once than `CONNECTIONS`, the others wait for a connection.
    """

    def __init__(self, address: ServerAddress) -> None:
        self._server = f"{'https' if address.is_tls else 'http'}://{address.host}:{address.port}"
        self._tls = make_context() if address.is_tls else True
        tracing = aiohttp.TraceConfig()
        tracing.on_connection_reuseconn.append(_note_reuse)
        self._session = self._make_session(CONNECTIONS, [tracing])
        self._streams = self._make_session(0, [])  # 0: no limit, as streams never give a place back

    async def send(self, request: OutgoingRequest, timeout_s: float) -> HttpResponse:
        """Send a request. Retry the request once if a reused connection turns out to be closed.

        `Connection.getresponse` does the same, and explains the reasons.
        """
        deadline = time.monotonic() + timeout_s
        connection = SimpleNamespace(is_reused=False)
        with as_python_errors():
            try:
                return await self._exchange(request, timeout_s, connection)
            except CLOSED_BY_SERVER:
                if not connection.is_reused:
                    raise
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError("timed out")
            return await self._exchange(request, left_s, connection)

    async def open_stream(self, request: OutgoingRequest, timeout_s: float) -> AioStream:
        """Send a request, and return the response without its body. It counts as no call."""
        with as_python_errors():
            response = await asyncio.wait_for(
                self._streams.request(
                    request.method,
                    f"{self._server}{request.path}",
                    headers=request.headers,
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None),
                ),
                timeout_s,
            )
        return AioStream(response)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()
        await self._streams.close()

    def _make_session(
        self, limit: int, tracing: list[aiohttp.TraceConfig]
    ) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limit, ssl=self._tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=SKIPPED_HEADERS,
            auto_decompress=False,  # nobody asked for a compressed one, which may grow without end
            trace_configs=tracing,
        )

    async def _exchange(
        self, request: OutgoingRequest, timeout_s: float, connection: SimpleNamespace
    ) -> HttpResponse:
        body = request.body
        length = {} if body is None else {"Content-Length": str(len(body))}
        async with self._session.request(
            request.method,
            f"{self._server}{request.path}",
            data=None if body is None else _in_one_write(body),
            headers={**request.headers, **length},
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=timeout_s, ceil_threshold=timeout_s),
            trace_request_ctx=connection,
        ) as response:
            content = bytearray()
            async for part in response.content.iter_any():
                content += part
                check_size(content)
            return HttpResponse(response.status, response.headers, bytes(content))


class AioStream:
    """A response whose body is read piece by piece."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status: int = response.status
        self.headers: Mapping[str, str] = response.headers

    async def read(self, silent_s: float) -> bytes:
        """Return the next piece; nothing at the end.

        Raises:
            OSError: No byte came for `silent_s`, or the connection is lost.
        """
        with as_python_errors():
            return await asyncio.wait_for(self._response.content.readany(), silent_s)

    async def close(self) -> None:
        """Close the connection."""
        self._response.close()


async def _in_one_write(body: bytes) -> AsyncIterator[memoryview]:
    """Yield a body as a whole. The event loop sends it, and looks for an answer before each step.

    A server may answer early, such as that the picture is too large, and close the connection. With
    more writes, the next one would fail before the answer is read, and hide it.
    """
    yield memoryview(body)


async def _note_reuse(_session: object, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.is_reused = True


@contextmanager
def as_python_errors() -> Iterator[None]:
    """Raise aiohttp's errors as those of Python's own HTTP, which `translate_errors` knows."""
    try:
        yield
    except asyncio.TimeoutError as error:  # not TimeoutError before Python 3.11
        raise TimeoutError("timed out") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise error.certificate_error from error
    except aiohttp.ClientConnectorError as error:
        raise _with_system_message(error.os_error) from error
    except aiohttp.ServerDisconnectedError as error:
        raise RemoteDisconnected("Remote end closed connection without response") from error
    except aiohttp.ClientResponseError as error:
        raise BadStatusLine(error.message) from error
    except aiohttp.ClientOSError:
        raise
    except aiohttp.ClientError as error:
        raise ConnectionError(str(error) or type(error).__name__) from error


def _with_system_message(error: OSError) -> OSError:
    """Return an error with the system's message. asyncio always says "Connect call failed"."""
    if isinstance(error, ConnectionError) and error.errno:
        return OSError(error.errno, os.strerror(error.errno))
    return error
