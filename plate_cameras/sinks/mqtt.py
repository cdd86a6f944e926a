"""MQTT: each event is published on the topics of its camera, zones and lists (QoS 1)."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

import aiomqtt

from orchestrator.errors import SettingsError
from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera, Sink
from plate_cameras.secret_settings import resolve_secret
from plate_cameras.sinks.home_assistant import (
    OFFLINE,
    ONLINE,
    STATUS_TOPIC,
    camera_topic,
    describe_camera,
    describe_list,
    list_device_topic,
    pass_topic,
    topics_of,
)
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import DeliveryError

PORTS = {"mqtt": 1883, "mqtts": 8883}
QOS = 1
TIMEOUT_S = 10.0
"""Longest wait for the broker, for a connection or the receipt of an event."""
KEEPALIVE_S = 30
MAX_ANNOUNCEMENTS = 100
"""Devices that are announced at the same time. Each batch takes as long as an answer of the broker,
and all of them together must take less than the limit of one event."""
CHECK_S = 15.0
"""Interval of the checks of the broker while there are no events."""
MAX_PACKET_BYTES, MAX_BYTES_PER_S = 1024, 20_000
"""Largest number of bytes of a packet of the broker, and of all in a second. Receipts have two to
five."""
PUBLISH, KIND_BITS = 0x30, 0xF0
"""The kind of a message, in the first byte of a packet. Source: MQTT 3.1.1, section 2.2."""
SILENT = logging.Logger("aiomqtt", logging.CRITICAL + 1)
"""A logger for the library, whose messages about each attempt are dropped: a sink reports changes
only. It is outside the tree of loggers, which `logging.config` would enable again.
"""
FAILURES = (aiomqtt.MqttError, OSError, ValueError, AttributeError)
"""Errors of a broker that is away or misbehaves. The library raises an AttributeError if the
connection ends while another thread begins it."""
USER, PASSWORD, DISCOVERY = "user", "password", "discovery"
"""Options of the sink. `discovery = "no"` leaves out Home Assistant and its further topics."""

Announcement = tuple[str, Mapping[str, Any]]
"""A topic on which Home Assistant looks for a device, and the device's description."""


class _ReceiptReader:
    """Reads receipts alone. The client has subscribed to nothing, so nothing else may come.

    Args:
        client: The client of paho-mqtt. This stands in for its method that reads.
    """

    def __init__(self, client: Any) -> None:
        self._client, self._receive = client, client._sock_recv
        self._second_s, self._received_bytes = 0.0, 0
        client._sock_recv = self.receive

    def receive(self, most_bytes: int) -> bytes:
        """Return what the broker sends.

        Raises:
            ConnectionAbortedError: It is a message, or more than the limits.
        """
        if (now_s := steady_s()) - self._second_s >= 1:
            self._second_s, self._received_bytes = now_s, 0
        is_message = self._client._in_packet["command"] & KIND_BITS == PUBLISH
        is_flood = self._received_bytes > MAX_BYTES_PER_S
        if is_message or is_flood or most_bytes > MAX_PACKET_BYTES:
            raise ConnectionAbortedError("the broker sends more than receipts")
        content: bytes = self._receive(most_bytes)
        self._received_bytes += len(content)
        return content


WILL = aiomqtt.Will(STATUS_TOPIC, OFFLINE, QOS, retain=True)


class MqttReceiver:
    """Publishes events to a broker, and announces cameras, zones and lists to Home Assistant.

    Args:
        sink: The sink, with `url` such as `mqtt://broker:1883`, and the options user and password.
        cameras: Its cameras. Without any, as in a test of the sink, nothing is said of their state.
        environ: The environment variables for `env:NAME`.

    Raises:
        SettingsError: The address or an option is wrong.
    """

    def __init__(
        self,
        sink: Sink,
        cameras: Sequence[Camera],
        environ: Mapping[str, str],
        clock: Callable[[], float] = steady_s,
    ) -> None:
        try:
            parts = urlsplit(sink.url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise SettingsError(f"sink {sink.name}: {error}") from error
        if parts.scheme not in PORTS or not host:
            raise SettingsError(f"sink {sink.name}: wanted an mqtt:// or mqtts:// address")
        self._address = host, port or PORTS[parts.scheme]
        self._context = ssl.create_default_context() if parts.scheme == "mqtts" else None
        self._user = _read_option(sink, USER, environ) or unquote(parts.username or "") or None
        password = _read_option(sink, PASSWORD, environ) or unquote(parts.password or "")
        self._password = password or None
        self._has_status = bool(cameras)
        self._has_discovery = sink.options.get(DISCOVERY, "yes") != "no" and self._has_status
        self._zones = {camera.name: {zone.name for zone in camera.zones} for camera in cameras}
        self._lists = {*sink.lists} or {name for camera in cameras for name in camera.lists}
        self._client: aiomqtt.Client | None = None
        self._leaving_tasks = set[asyncio.Task[None]]()
        self._clock = clock
        self._checked_s = 0.0

    async def send(self, delivery: Delivery) -> None:
        """Publish one event, see `Receiver`."""
        document = {"id": delivery.id, **delivery.document}
        data = document["data"]
        topics = topics_of(data) if self._has_discovery else [pass_topic(data["camera"])]
        try:
            client = self._client or await self._connect()
            await _announce(client, self._find_news(data))
            for topic in topics:
                await _publish(client, topic, document)
        except FAILURES as error:
            self._leave()
            raise DeliveryError(f"cannot publish: {error}") from error
        except asyncio.CancelledError:  # a limit of time: nobody knows what the broker has
            self._leave()
            raise

    async def idle(self) -> None:
        """Connect, and find out now and then whether the broker is still there."""
        if self._client and self._clock() - self._checked_s <= CHECK_S:
            return
        try:
            if self._client:
                await self._publish_status(self._client, ONLINE, TIMEOUT_S)
            else:
                await self._connect()
            self._checked_s = self._clock()
        except FAILURES:  # the next event tells why
            self._leave()
        except asyncio.CancelledError:
            self._leave()
            raise

    async def close(self) -> None:
        """Say that the cameras are offline, and end the connection."""
        self._leave()
        if self._leaving_tasks:
            await asyncio.wait(self._leaving_tasks, timeout=TIMEOUT_S)

    async def _connect(self) -> aiomqtt.Client:
        """Connect, and publish the retained messages for new subscribers."""
        host, port = self._address
        client = aiomqtt.Client(
            host,
            port,
            username=self._user,
            password=self._password,
            tls_context=self._context,
            will=WILL if self._has_status else None,
            timeout=TIMEOUT_S,
            keepalive=KEEPALIVE_S,
            logger=SILENT,
            max_queued_incoming_messages=1,
            max_inflight_messages=MAX_ANNOUNCEMENTS,
        )
        _ReceiptReader(client._client)
        entering = asyncio.create_task(_enter(client))
        try:
            await asyncio.shield(entering)
        except BaseException:
            self._leave_later(_disconnect(client, entering))
            raise
        self._client = client
        if self._has_discovery:
            cameras = [_of_camera(name, zones) for name, zones in self._zones.items()]
            await _announce(client, [*cameras, *map(_of_list, sorted(self._lists))])
        await self._publish_status(client, ONLINE, TIMEOUT_S)
        return client

    async def _publish_status(self, client: aiomqtt.Client, status: str, timeout_s: float) -> None:
        if self._has_status:
            await client.publish(STATUS_TOPIC, status, QOS, retain=True, timeout=timeout_s)

    async def _say_goodbye(self, client: aiomqtt.Client) -> None:
        with suppress(*FAILURES):  # the broker is away: it has the last will
            await self._publish_status(client, OFFLINE, 1.0)
        await _close(client)

    def _find_news(self, data: Mapping[str, Any]) -> list[Announcement]:
        """Return the devices that are new, or whose zones are: people draw zones on a page, too.

        A camera may have been added to the file while the sinks went on.
        """
        if not self._has_discovery:
            return []
        camera, news = data["camera"], list[Announcement]()
        is_known = camera in self._zones
        zones = self._zones.setdefault(camera, set())
        if not is_known or not zones.issuperset(data["zones"]):
            zones.update(data["zones"])
            news.append(_of_camera(camera, zones))
        lists = {hit["list"] for hit in data.get("lists", ())} - self._lists
        self._lists |= lists
        return [*news, *map(_of_list, sorted(lists))]

    def _leave(self) -> None:
        """End the connection in the background; the next event gets a new one."""
        client, self._client = self._client, None
        if client:
            self._leave_later(self._say_goodbye(client))

    def _leave_later(self, leaving: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(leaving)
        self._leaving_tasks.add(task)
        task.add_done_callback(self._leaving_tasks.discard)


async def _enter(client: aiomqtt.Client) -> None:
    await client.__aenter__()


async def _disconnect(client: aiomqtt.Client, entering: asyncio.Task[None]) -> None:
    """End a connection that was not finished. Its socket would stay open otherwise."""
    await asyncio.wait({entering})  # it has limits of its own
    if not entering.cancelled():
        entering.exception()
    await _close(client)


async def _close(client: aiomqtt.Client) -> None:
    with suppress(*FAILURES):
        await client.__aexit__(None, None, None)
    if client._disconnected.done() and not client._disconnected.cancelled():
        client._disconnected.exception()  # asyncio would log that nobody has taken it


async def _announce(client: aiomqtt.Client, devices: Sequence[Announcement]) -> None:
    for start in range(0, len(devices), MAX_ANNOUNCEMENTS):
        batch = devices[start : start + MAX_ANNOUNCEMENTS]
        await asyncio.gather(*(_publish(client, *device, retain=True) for device in batch))


def _of_camera(name: str, zones: Collection[str]) -> Announcement:
    return camera_topic(name), describe_camera(name, sorted(zones))


def _of_list(name: str) -> Announcement:
    return list_device_topic(name), describe_list(name)


async def _publish(
    client: aiomqtt.Client, topic: str, document: Mapping[str, Any], *, retain: bool = False
) -> None:
    content = json.dumps(document, ensure_ascii=False)
    await client.publish(topic, content, QOS, retain=retain, timeout=TIMEOUT_S)


def _read_option(sink: Sink, name: str, environ: Mapping[str, str]) -> str:
    value = sink.options.get(name, "")
    return resolve_secret(f"sink {sink.name}: {name}", value, environ) if value else ""
