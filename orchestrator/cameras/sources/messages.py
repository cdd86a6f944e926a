"""The messages between the watcher and its decoding processes.

Each message is a head and a body. The head is JSON, with the key `kind`; the body is bytes, often
none. On the wire: length of the head and of the body (two 32-bit little-endian integers), head,
body.

| from the watcher | |
|---|---|
| `open` | `id`, `camera`, `after_s`: follow this camera; of a file, from this time on |
| `take` | `id`: send the newest frame, or the next one if there is none; a file's next frame |
| `close` | `id`: stop |

| to the watcher | |
|---|---|
| `ready` | `id`: there is a frame to take. It comes once for each frame that was taken |
| `frame` | `id`, `number`, `time_s`, `clock`, `size_wh`; the body is a JPEG file |
| `ended` | `id`: there will be no more frames |
| `status` | `id`, `status`, `age_s`: state, and seconds since the source last did something |
"""

from __future__ import annotations

import json
import struct
from typing import Any, Protocol

LENGTHS = struct.Struct("<II")
Head = dict[str, Any]


class BlockingReader(Protocol):
    """A file that is read with blocking calls."""

    def read(self, size: int, /) -> bytes: ...


class AsyncReader(Protocol):
    """The part of `asyncio.StreamReader` that is needed."""

    async def readexactly(self, n: int) -> bytes: ...


def pack(head: Head, body: bytes = b"") -> bytes:
    """Return the bytes of a message."""
    text = json.dumps(head).encode()
    return LENGTHS.pack(len(text), len(body)) + text + body


def read_message(reader: BlockingReader) -> tuple[Head, bytes] | None:
    """Return the next message, or None at the end."""
    lengths = reader.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head, body = LENGTHS.unpack(lengths)
    return json.loads(reader.read(head)), reader.read(body)


async def receive_message(reader: AsyncReader) -> tuple[Head, bytes]:
    """Return the next message.

    Raises:
        asyncio.IncompleteReadError: The other side has ended.
    """
    head, body = LENGTHS.unpack(await reader.readexactly(LENGTHS.size))
    return json.loads(await reader.readexactly(head)), await reader.readexactly(body)
