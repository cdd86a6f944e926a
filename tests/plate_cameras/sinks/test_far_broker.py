"""MQTT to a broker whose answers take long, in virtual time."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from plate_cameras.configuration import Camera, Sink
from plate_cameras.setting_parts import MAX_CAMERAS
from plate_cameras.sinks import mqtt
from plate_cameras.sinks.mqtt import MqttReceiver
from plate_cameras.sinks.receiver import BoundedReceiver
from tests.plate_cameras.sinks.receivers import make_delivery
from tests.virtual_time import virtually

ANSWER_S = 0.5
"""From a satellite, say."""


class FarClient:
    """A client of a far broker, which waits for receipts as the library does."""

    topics: list[str]

    def __init__(self, *_: object, max_inflight_messages: int = 20, **__: object) -> None:
        self._client = SimpleNamespace(_sock_recv=None)
        self._disconnected = asyncio.get_running_loop().create_future()
        self._places = asyncio.Semaphore(max_inflight_messages)

    async def __aenter__(self) -> FarClient:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def publish(self, topic: str, *_: object, **__: object) -> None:
        async with self._places:
            await asyncio.sleep(ANSWER_S)
        self.topics.append(topic)


@virtually
async def test_all_cameras_are_announced_within_the_limit_of_one_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FarClient, "topics", [], raising=False)
    monkeypatch.setattr(mqtt.aiomqtt, "Client", FarClient)
    cameras = [Camera(f"camera {number}", "") for number in range(MAX_CAMERAS)]
    receiver = MqttReceiver(Sink("home", "mqtt", "mqtt://broker"), cameras, {})
    assert await BoundedReceiver(receiver).send(make_delivery(1), lambda _: None) is None
    assert len({*FarClient.topics}) > MAX_CAMERAS
