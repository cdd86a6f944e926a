"""The end of a decoder's process while its messages arrive."""

import asyncio
from types import SimpleNamespace

import pytest

from orchestrator.cameras.configuration import Camera
from orchestrator.cameras.sources.children import Child
from orchestrator.cameras.sources.decoders import Decoders

ENDLESS = 10_000


class TalkativeChild:
    """Always has a message, at the next turn of the event loop."""

    def __init__(self) -> None:
        self.count = 0

    async def read(self) -> SimpleNamespace:
        self.count += 1
        await asyncio.sleep(60 if self.count > ENDLESS else 0)
        return SimpleNamespace(id=0)

    def send(self, message: object) -> None:
        """Take a message."""

    async def end(self) -> int:
        return 0


@pytest.mark.parametrize("turns", range(10, 20))
def test_a_process_ends_when_its_last_camera_is_closed_while_a_message_arrives(
    monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    async def start(command: object) -> TalkativeChild:
        return TalkativeChild()

    async def run() -> None:
        async with Decoders() as decoders:
            stream = decoders.open(Camera("gate", "rtsp://10.0.0.5/stream1"))
            for _ in range(turns):
                await asyncio.sleep(0)
            await stream.close()

    monkeypatch.setattr(Child, "start", start)
    asyncio.run(asyncio.wait_for(run(), 5))
