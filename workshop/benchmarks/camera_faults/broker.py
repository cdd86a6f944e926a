"""A real MQTT broker, and a subscriber that records all messages."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import aiomqtt

from workshop.benchmarks.camera_faults.programs import Program
from workshop.benchmarks.faults.settings import CannotBeMadeError

TOPIC = "plates/+/pass"
AGAIN_S = 0.02
"""The subscriber comes back before any publisher: its pauses are longer."""


def make_broker(folder: Path, port: int) -> Program:
    """Return the program of a broker.

    Raises:
        CannotBeMadeError: It is not installed.
    """
    program = shutil.which("mosquitto") or shutil.which("/usr/sbin/mosquitto")
    if program is None:
        raise CannotBeMadeError("there is no mosquitto: apt-get install mosquitto")
    file = folder / "mosquitto.conf"
    file.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n", encoding="utf-8")
    return Program((program, "-c", file), port, folder / "mosquitto.log")


class Subscriber:
    """Takes all events of passes, over all breaks of its connection.

    Args:
        port: Port of the broker.

    Attributes:
        documents: The events in their order.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._is_over = False
        self.documents: list[dict[str, Any]] = []

    @contextmanager
    def run(self) -> Iterator[None]:
        """Subscribe for the length of a `with` block."""
        thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_over = True
            thread.join(5)

    async def _run(self) -> None:
        taking = asyncio.create_task(self._take_all())
        while not self._is_over:
            await asyncio.sleep(0.1)
        taking.cancel()
        await asyncio.wait({taking}, timeout=2)

    async def _take_all(self) -> None:
        while True:
            with suppress(aiomqtt.MqttError, OSError):
                async with aiomqtt.Client("127.0.0.1", self._port, timeout=2) as client:
                    await client.subscribe(TOPIC, qos=1)
                    async for message in client.messages:
                        self.documents.append(json.loads(bytes(message.payload)))
            await asyncio.sleep(AGAIN_S)
