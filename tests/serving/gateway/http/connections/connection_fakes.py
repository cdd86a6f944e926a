"""An HTTP connection without a socket; tests run it in virtual time."""

import asyncio
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from orchestrator.serving.gateway.http.protocol import make_protocol
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.connections import Connections


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Read the body, work for as many seconds as the path says, and answer.

    The path `/begin` begins an answer and never ends it, and `/size` tells the body's size.
    """
    body, is_whole = b"", False
    while not is_whole:
        message = await receive()
        body, is_whole = body + message.get("body", b""), not message.get("more_body")
    seconds = scope["path"].lstrip("/")
    await asyncio.sleep(float(seconds) if seconds.isdigit() else 0)
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    if seconds == "begin":
        await asyncio.Event().wait()
    answer = b"%02d" % len(body) if seconds == "size" else b"ok"
    await send({"type": "http.response.body", "body": answer})


class FakePeer(asyncio.Transport):
    """The client's end of a connection.

    Attributes:
        connections: Connections of the server's port.
        received: Bytes that the server sent.
        writes: Number of its writes.
        ended: Set when the server has closed the connection.
    """

    def __init__(self, connections: Connections | None = None, **limits: float) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 8000)})
        self.connections = connections or Connections(10, 10)
        self.received, self.writes, self.ended = b"", 0, asyncio.Event()
        known_limits = Limits(calls=1, **limits)  # type: ignore[arg-type]
        http = make_protocol(self.connections, known_limits)
        config = uvicorn.Config(
            app,
            http=http,
            ws="none",
            lifespan="off",
            log_config=None,
            timeout_keep_alive=round(known_limits.idle_s),
        )
        config.load()
        self._protocol = http(config=config, server_state=ServerState(), app_state={})
        self._protocol.connection_made(self)

    async def send(self, data: bytes) -> None:
        """Send bytes, and run the server until it waits."""
        self._protocol.data_received(data)
        await asyncio.sleep(0.001)

    def stop_server(self) -> None:
        """Let the server end, as uvicorn does it."""
        self.connections.is_leaving = True
        self._protocol.shutdown()

    async def wait_for_end(self) -> float:
        """Return the second in which the server closed the connection."""
        await self.ended.wait()
        return round(asyncio.get_running_loop().time(), 1)

    def write(self, data: bytes) -> None:
        self.received += data
        self.writes += 1

    def close(self) -> None:
        if not self.ended.is_set():
            self.ended.set()
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    abort = close

    def write_eof(self) -> None:
        self.ended.set()

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return self.ended.is_set()

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...
