"""Clients of the control room: `PlateClient` with passes, live events, lists and gates."""

from plate_cameras.client.cameras_client import AsyncCamerasClient, CamerasClient
from plate_cameras.client.gate_openings import OpeningRecord
from plate_cameras.client.list_entries import EntryRecord, ListRecord
from plate_cameras.client.live_events import CameraReport, LiveEvent
from plate_cameras.client.pass_search import PassRecord

__all__ = [
    "AsyncCamerasClient",
    "CameraReport",
    "CamerasClient",
    "EntryRecord",
    "ListRecord",
    "LiveEvent",
    "OpeningRecord",
    "PassRecord",
]
