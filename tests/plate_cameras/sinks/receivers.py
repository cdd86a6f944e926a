"""Receivers that follow a script."""

from __future__ import annotations

import asyncio

from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import DeliveryError

AWAY = DeliveryError("away")


class ScriptedReceiver:
    """A receiver that fails once with each given error, and then accepts all events."""

    def __init__(self, *errors: DeliveryError) -> None:
        self.errors = [*errors]
        self.received: list[str] = []
        self.idle_times = 0
        self.is_closed = False

    async def send(self, delivery: Delivery) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.received.append(delivery.id)

    async def idle(self) -> None:
        self.idle_times += 1

    async def close(self) -> None:
        self.is_closed = True


class HangingReceiver(ScriptedReceiver):
    async def send(self, delivery: Delivery) -> None:
        await asyncio.Event().wait()


class WideReceiver(ScriptedReceiver):
    """A receiver of several events at once, which records their number."""

    at_once = 4

    def __init__(self, *errors: DeliveryError) -> None:
        super().__init__(*errors)
        self.under_way = self.most = 0

    async def send(self, delivery: Delivery) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        await super().send(delivery)
