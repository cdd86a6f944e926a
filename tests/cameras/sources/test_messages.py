import asyncio
import io

import pytest

from orchestrator.cameras.sources.messages import pack, read_message, receive_message

HEAD = {"kind": "frame", "id": 3, "size_wh": [4, 2]}


@pytest.mark.parametrize("body", [b"", b"\0" * 100_000])
def test_a_message_is_read_as_it_was_packed(body: bytes) -> None:
    reader = io.BytesIO(pack(HEAD, body) + pack({"kind": "close"}))
    assert read_message(reader) == (HEAD, body)
    assert read_message(reader) == ({"kind": "close"}, b"")
    assert read_message(reader) is None


def test_a_message_is_received_as_it_was_packed() -> None:
    async def run() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(pack(HEAD, b"jpeg"))
        reader.feed_eof()
        assert await receive_message(reader) == (HEAD, b"jpeg")
        with pytest.raises(asyncio.IncompleteReadError):
            await receive_message(reader)

    asyncio.run(run())
