"""MQTT: each event is published on the topic of its camera, at least once (QoS 1)."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

import aiomqtt

from orchestrator.cameras.configuration import Sink
from orchestrator.cameras.sinks.home_assistant import (
    OFFLINE,
    ONLINE,
    STATUS_TOPIC,
    describe_device,
    discovery_topic,
    pass_topic,
)
from orchestrator.cameras.sinks.outbox import Delivery
from orchestrator.cameras.sinks.receiver import DeliveryError
from orchestrator.cameras.sinks.secrets import resolve_secret
from orchestrator.errors import SettingsError

PORTS = {"mqtt": 1883, "mqtts": 8883}
QOS = 1
TIMEOUT_S = 10.0
"""Longest wait for the broker, for a connection or the receipt of an event."""
KEEPALIVE_S = 30
CHECK_S = 15.0
"""How often the broker is asked whether it is there, while there are no events."""
USER, PASSWORD, DISCOVERY = "user", "password", "discovery"
"""Options of the sink. `discovery = "no"` leaves out Home Assistant."""


class MqttReceiver:
    """Publishes events to a broker, and announces the cameras to Home Assistant.

    Args:
        sink: The sink, with `url` such as `mqtt://broker:1883`, and the options user and password.
        cameras: Names of the cameras whose events it gets.
        environ: The environment variables for `env:NAME`.
        clock: Returns seconds.

    Raises:
        SettingsError: The address or an option is wrong.
    """

    def __init__(
        self,
        sink: Sink,
        cameras: Sequence[str],
        environ: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        parts = urlsplit(sink.url)
        if parts.scheme not in PORTS or not parts.hostname:
            raise SettingsError(f"sink {sink.name}: wanted an mqtt:// or mqtts:// address")
        self._address = parts.hostname, parts.port or PORTS[parts.scheme]
        self._context = ssl.create_default_context() if parts.scheme == "mqtts" else None
        self._user = _read_option(sink, USER, environ) or unquote(parts.username or "") or None
        password = _read_option(sink, PASSWORD, environ) or unquote(parts.password or "")
        self._password = password or None
        self._cameras = cameras if sink.options.get(DISCOVERY, "yes") != "no" else ()
        self._client: aiomqtt.Client | None = None
        self._clock = clock
        self._checked_s = 0.0

    async def send(self, delivery: Delivery) -> None:
        """Publish one event, see `Receiver`."""
        document = {"id": delivery.id, **delivery.document}
        topic = pass_topic(str(document["data"]["camera"]))
        try:
            client = self._client or await self._connect()
            await _publish(client, topic, document)
        except (aiomqtt.MqttError, OSError) as error:
            await self.close()
            raise DeliveryError(f"cannot publish: {error}") from error

    async def idle(self) -> None:
        """Connect, and find out now and then whether the broker is still there."""
        try:
            if self._client is None:
                await self._connect()
            elif self._clock() - self._checked_s > CHECK_S:
                await self._client.publish(
                    STATUS_TOPIC, ONLINE, QOS, retain=True, timeout=TIMEOUT_S
                )
            else:
                return
            self._checked_s = self._clock()
        except (aiomqtt.MqttError, OSError):  # the next event tells why
            await self.close()

    async def close(self) -> None:
        """Say that the cameras are offline, and end the connection."""
        client, self._client = self._client, None
        if client is None:
            return
        with suppress(aiomqtt.MqttError, OSError):  # the broker is away: it has the last will
            await client.publish(STATUS_TOPIC, OFFLINE, QOS, retain=True, timeout=1)
        with suppress(aiomqtt.MqttError, OSError):
            await client.__aexit__(None, None, None)

    async def _connect(self) -> aiomqtt.Client:
        """Connect, and publish what new subscribers must find."""
        host, port = self._address
        client = aiomqtt.Client(
            host,
            port,
            username=self._user,
            password=self._password,
            tls_context=self._context,
            will=aiomqtt.Will(STATUS_TOPIC, OFFLINE, QOS, retain=True),
            timeout=TIMEOUT_S,
            keepalive=KEEPALIVE_S,
        )
        await client.__aenter__()
        self._client = client
        for camera in self._cameras:
            await _publish(client, discovery_topic(camera), describe_device(camera), retain=True)
        await client.publish(STATUS_TOPIC, ONLINE, QOS, retain=True)
        return client


async def _publish(
    client: aiomqtt.Client, topic: str, document: Mapping[str, Any], *, retain: bool = False
) -> None:
    content = json.dumps(document, ensure_ascii=False)
    await client.publish(topic, content, QOS, retain=retain, timeout=TIMEOUT_S)


def _read_option(sink: Sink, name: str, environ: Mapping[str, str]) -> str:
    value = sink.options.get(name, "")
    return resolve_secret(f"sink {sink.name}: {name}", value, environ) if value else ""
