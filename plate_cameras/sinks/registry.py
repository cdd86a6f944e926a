"""The types of sinks, and the receivers that they make."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any

from orchestrator.errors import ExtraError, PlateError, SettingsError
from orchestrator.host.text_lines import to_line
from orchestrator.host.toml_files import show
from plate_cameras.background_tasks import describe
from plate_cameras.configuration import Camera, Configuration, Sink
from plate_cameras.sinks.isolated_receiver import IsolatedReceiver
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import DeliveryError, Receiver

ENTRY_POINTS = "plates.sinks"
"""Group of entry points. Each is a callable that takes a `Sink` and returns a coroutine function;
that one takes the event's document with its `id`."""
BUILT_IN = ("webhook", "mqtt", "jsonl", "notify")


FindPictures = Callable[[str], Sequence[bytes]]
"""Returns the kept pictures of a pass by its id, as JPEG files: the plate first. It may block."""


def find_none(_pass_id: str) -> Sequence[bytes]:
    """Return no pictures: there is no store."""
    return ()


def make_receivers(
    configuration: Configuration,
    environ: Mapping[str, str] = os.environ,
    find_pictures: FindPictures = find_none,
) -> dict[str, Receiver]:
    """Make the receiver of each sink of a configuration.

    Raises:
        SettingsError: A sink has an unknown type, or wrong settings.
    """
    receivers = {}
    for sink in configuration.sinks:
        own = [camera for camera in configuration.cameras if camera.name in sink.cameras]
        cameras = own or configuration.cameras
        receivers[sink.name] = make_receiver(sink, cameras, environ, find_pictures)
    return receivers


def make_receiver(
    sink: Sink,
    cameras: Sequence[Camera],
    environ: Mapping[str, str],
    find_pictures: FindPictures = find_none,
) -> Receiver:
    """Make the receiver of a sink, in a thread of its own. It connects when it gets events.

    Raises:
        SettingsError: The sink has an unknown type, or wrong settings.
        ExtraError: A package that its type needs is not installed.
    """
    try:
        return IsolatedReceiver(sink.name, _make(sink, cameras, environ, find_pictures))
    except (SettingsError, ExtraError):
        raise
    except Exception as error:  # a value that a library rejects, or code of others
        raise SettingsError(f"sink {sink.name}: {describe(error)}") from error


def _make(
    sink: Sink, cameras: Sequence[Camera], environ: Mapping[str, str], find_pictures: FindPictures
) -> Receiver:
    if sink.type == "webhook":
        from plate_cameras.sinks.webhook import WebhookReceiver

        return WebhookReceiver(sink, environ)
    if sink.type == "mqtt":
        from plate_cameras.sinks.mqtt import MqttReceiver

        return MqttReceiver(sink, cameras, environ)
    if sink.type == "jsonl":
        from plate_cameras.sinks.json_lines import JsonLinesReceiver

        return JsonLinesReceiver(sink)
    if sink.type == "notify":
        from plate_cameras.sinks.notify import NotifyReceiver

        return NotifyReceiver(sink, environ, find_pictures)
    make = _load(sink)
    try:
        return EntryPointReceiver(make(sink))
    except PlateError:
        raise
    except Exception as error:
        reason = to_line(f"{type(error).__name__}: {error}")
        raise SettingsError(f"sink {sink.name}: type {sink.type}: {reason}") from error


class EntryPointReceiver:
    """Hands events to a coroutine function of another distribution.

    Args:
        function: Takes an event's document. Any exception means that it was not delivered.
    """

    def __init__(self, function: Callable[[Mapping[str, Any]], Any]) -> None:
        self._function = function

    async def send(self, delivery: Delivery) -> None:
        """Call the function, see `Receiver`."""
        try:
            await self._function({"id": delivery.id, **delivery.document})
        except DeliveryError as error:
            error.kind = type(error).__name__  # its text may have plates, which no metric shows
            raise
        except Exception as error:
            raise DeliveryError(f"{type(error).__name__}: {error}") from error

    async def idle(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Call the function's `close`, if it has one."""
        if close := getattr(self._function, "close", None):
            await close()


def _load(sink: Sink) -> Callable[[Sink], Any]:
    points = {point.name: point for point in metadata.entry_points(group=ENTRY_POINTS)}
    if sink.type not in points:
        types = ", ".join([*BUILT_IN, *sorted(points)])
        raise SettingsError(f"sink {sink.name}: wanted type {types}, got {show(sink.type)}")
    try:
        make: Callable[[Sink], Any] = points[sink.type].load()
    except Exception as error:
        raise SettingsError(
            f"sink {sink.name}: type {sink.type} cannot be loaded: {error}"
        ) from error
    return make
