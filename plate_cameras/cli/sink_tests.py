"""Tests of sinks by a command."""

from __future__ import annotations

import asyncio
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import show
from plate_cameras.cli.camera_stores import has_store, open_camera_store, requester_of


def send_test(file: Path, name: str) -> None:
    """Send a test event to a sink. The audit records it first, if there is a database.

    Raises:
        PlateError: There is no such sink, or its receiver has not accepted the event.
    """
    from plate_cameras.configuration import read_configuration
    from plate_cameras.sinks.trial import try_sink

    configuration = read_configuration(file)
    sinks = {sink.name: sink for sink in configuration.sinks}
    if name not in sinks:
        names = ", ".join(sinks) or "it has none"
        raise SettingsError(f"wanted a sink of {file} ({names}), got {show(name)}")
    if has_store(file):
        with open_camera_store(file) as store:
            store.record_test(name, requester_of("-"))
    asyncio.run(try_sink(sinks[name]))
