"""Clients of the control room: `PlateClient` with passes, live events and lists."""

from plate_cameras.client.clients import AsyncCamerasClient, CamerasClient
from plate_cameras.client.live_events import CameraReport, LiveEvent
from plate_cameras.client.pass_search import PassRecord
from plate_cameras.client.plate_lists import EntryRecord, ListRecord

__all__ = [
    "AsyncCamerasClient",
    "CameraReport",
    "CamerasClient",
    "EntryRecord",
    "ListRecord",
    "LiveEvent",
    "PassRecord",
]
