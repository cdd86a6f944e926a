"""A test of a sink: its receiver gets one event of the type `test`, past filters and outbox."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Mapping

import cv2
import numpy as np

from plate_cameras.clocks import unix_s
from plate_cameras.configuration import Sink
from plate_cameras.passes import to_rfc3339
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import BoundedReceiver
from plate_cameras.sinks.registry import make_receiver

TEST = "test"
"""Type of the event, and name of its camera."""
PLATE = "A000AA77"


async def try_sink(sink: Sink, environ: Mapping[str, str] = os.environ) -> None:
    """Send a test event to the receiver of a sink, from this machine.

    Raises:
        SettingsError: The sink has wrong settings, or its secret is not here.
        ExtraError: A package that its type needs is not installed.
        DeliveryError: The receiver has not accepted the event.
    """
    # Without cameras: their announcements and their state are those of `plates watch`.
    receiver = await asyncio.to_thread(make_receiver, sink, (), environ, lambda _: [_draw()])
    limited_receiver = BoundedReceiver(receiver)
    try:
        error = await limited_receiver.send(make_test(sink.name, unix_s()), lambda _: None)
    finally:
        await limited_receiver.close()
    if error:
        raise error


def make_test(sink: str, now_s: float) -> Delivery:
    """Return a test event, which has the fields of a pass."""
    id_, time = f"test_{uuid.uuid4().hex}", to_rfc3339(now_s)
    data = {
        "id": id_,
        "camera": TEST,
        "progress": "closed",
        "first_seen": time,
        "last_seen": time,
        "clock": "wall",
        "text": PLATE,
        "text_native": "",
        "text_score": 0.0,
        "format": "",
        "region_code": "",
        "region": "",
        "candidates": [],
        "direction": "",
        "crossings": [],
        "speed_widths_s": 0.0,
        "speed_kmh": None,
        "speed_error_kmh": None,
        "zones": [],
        "frames": 0,
        "best": {"time": time, "xyxy": [0.0, 0.0, 0.0, 0.0], "width": 0, "height": 0},
        "lists": [],
    }
    return Delivery(id_, sink, {"type": TEST, "timestamp": time, "data": data}, now_s)


def _draw() -> bytes:
    """Return a picture for messages to people."""
    picture = np.full((60, 240, 3), 235, np.uint8)
    cv2.putText(picture, PLATE, (15, 42), cv2.FONT_HERSHEY_SIMPLEX, 1.3, (20, 20, 20), 3)
    return bytes(cv2.imencode(".jpg", picture)[1])
