"""Discovery by Home Assistant: each camera becomes a device with sensors of its last pass.

Source: Home Assistant, "MQTT", device discovery (https://www.home-assistant.io/integrations/mqtt).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

from orchestrator.host.distribution import read_version

PREFIX = "homeassistant"
STATUS_TOPIC = "plates/status"
ONLINE, OFFLINE = "online", "offline"
UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")

SENSORS: Mapping[str, Mapping[str, str]] = {
    "plate": {
        "name": "Last plate",
        "icon": "mdi:car",
        "value_template": "{{ value_json.data.text }}",
    },
    "score": {
        "name": "Score",
        "unit_of_measurement": "%",
        "value_template": "{{ (value_json.data.text_score * 100) | round(1) }}",
    },
    "direction": {"name": "Direction", "value_template": "{{ value_json.data.direction }}"},
    "seen": {
        "name": "Last seen",
        "device_class": "timestamp",
        "value_template": "{{ value_json.data.last_seen }}",
    },
}
"""The sensors of a camera; their values are parts of the event."""


def to_slug(camera: str) -> str:
    """Return a camera's name for topics and ids. Different names have different slugs."""
    slug = UNSAFE.sub("_", camera)
    return slug if slug == camera else f"{slug}_{zlib.crc32(camera.encode()):08x}"


def pass_topic(camera: str) -> str:
    """Return the topic of a camera's events."""
    return f"plates/{to_slug(camera)}/pass"


def discovery_topic(camera: str) -> str:
    """Return the topic on which Home Assistant looks for a camera's device."""
    return f"{PREFIX}/device/plates_{to_slug(camera)}/config"


def describe_device(camera: str) -> dict[str, Any]:
    """Return the message that makes Home Assistant create a camera's device and sensors."""
    id_ = f"plates_{to_slug(camera)}"
    components = {
        name: {"platform": "sensor", "unique_id": f"{id_}_{name}", **sensor}
        for name, sensor in SENSORS.items()
    }
    return {
        "device": {"identifiers": [id_], "name": camera, "manufacturer": "Plates"},
        "origin": {"name": "plates", "sw_version": read_version()},
        "components": components,
        "state_topic": pass_topic(camera),
        "availability_topic": STATUS_TOPIC,
        "payload_available": ONLINE,
        "payload_not_available": OFFLINE,
        "qos": 1,
    }
