"""Discovery by Home Assistant: cameras and lists become devices with sensors of the last pass.

Zones of a camera have sensors of their own. Their sensors have topics of their own.

Source: Home Assistant, "MQTT", device discovery (https://www.home-assistant.io/integrations/mqtt).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
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
OF_ZONE = ("plate", "seen")
"""Sensors of a zone."""
CAMERA = {
    "name": "Camera",
    "icon": "mdi:cctv",
    "value_template": "{{ value_json.data.camera }}",
}


def to_slug(name: str) -> str:
    """Return a name for topics and ids. Different names have different slugs."""
    slug = UNSAFE.sub("_", name)
    return slug if slug == name else f"{slug}_{zlib.crc32(name.encode()):08x}"


def pass_topic(camera: str) -> str:
    """Return the topic of a camera's events."""
    return f"plates/{to_slug(camera)}/pass"


def zone_topic(camera: str, zone: str) -> str:
    """Return the topic of events of vehicles that were seen in a zone."""
    return f"plates/{to_slug(camera)}/zones/{to_slug(zone)}/pass"


def list_topic(name: str) -> str:
    """Return the topic of events of plates that are on a list."""
    return f"plates/lists/{to_slug(name)}/pass"


def topics_of(data: Mapping[str, Any]) -> Iterator[str]:
    """Return the topics of an event."""
    camera = str(data["camera"])
    yield pass_topic(camera)
    yield from (zone_topic(camera, zone) for zone in data["zones"])
    yield from (list_topic(hit["list"]) for hit in data.get("lists", ()))


def camera_topic(camera: str) -> str:
    """Return the topic on which Home Assistant looks for a camera's device."""
    return f"{PREFIX}/device/plates_{to_slug(camera)}/config"


def list_device_topic(name: str) -> str:
    """Return the topic on which Home Assistant looks for a list's device."""
    return f"{PREFIX}/device/plates-list_{to_slug(name)}/config"


def describe_camera(camera: str, zones: Iterable[str] = ()) -> dict[str, Any]:
    """Return the message that makes Home Assistant create a camera's device and sensors."""
    sensors = dict(SENSORS)
    for zone in zones:
        for name in OF_ZONE:
            title = {"name": f"{zone}: {SENSORS[name]['name'].lower()}"}
            topic = {"state_topic": zone_topic(camera, zone)}
            sensors[f"zone_{to_slug(zone)}_{name}"] = {**SENSORS[name], **title, **topic}
    return _describe(f"plates_{to_slug(camera)}", camera, sensors, pass_topic(camera))


def describe_list(name: str) -> dict[str, Any]:
    """Return the message that makes Home Assistant create a list's device and sensors."""
    sensors = {**SENSORS, "camera": CAMERA}
    return _describe(f"plates-list_{to_slug(name)}", name, sensors, list_topic(name))


def _describe(
    id_: str, name: str, sensors: Mapping[str, Mapping[str, str]], topic: str
) -> dict[str, Any]:
    """Return the description of a device. A sensor without a topic has the topic of the device."""
    components = {
        key: {"platform": "sensor", "unique_id": f"{id_}_{key}", **sensor}
        for key, sensor in sensors.items()
    }
    return {
        "device": {"identifiers": [id_], "name": name, "manufacturer": "Plates"},
        "origin": {"name": "plates", "sw_version": read_version()},
        "components": components,
        "state_topic": topic,
        "availability_topic": STATUS_TOPIC,
        "payload_available": ONLINE,
        "payload_not_available": OFFLINE,
        "qos": 1,
    }
