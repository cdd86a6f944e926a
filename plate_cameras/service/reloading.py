"""Follows changes of the file of cameras, and finds the lines of its errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from orchestrator.errors import ExtraError, PlateError, SettingsError
from orchestrator.host.disk_files import Stamp, stamp_of
from orchestrator.host.text_lines import decode
from orchestrator.host.toml_files import tomllib
from orchestrator.host.toml_lines import find_line
from plate_cameras.background_tasks import describe
from plate_cameras.configuration import Configuration, read_configuration

RELOAD_EVERY_S = 1.0
"""Interval of the checks of the file of cameras."""

Apply = Callable[[Configuration], Awaitable[None]]
Say = Callable[[str], None]


class Reloader:
    """Reads the file of cameras again when it has changed.

    A file that cannot be used is reported once, and changes nothing.

    Args:
        apply: Takes over a configuration, or raises an exception and changes nothing.
        say: Prints a line for people.
        stamp: The stamp of the file whose configuration is in use: it may have changed since it was
            read. None for that of the file as it is now.
    """

    def __init__(self, file: Path, apply: Apply, say: Say, stamp: Stamp | None = None) -> None:
        self._file, self._apply, self._say = file, apply, say
        self._stamp = stamp_of(file) if stamp is None else stamp
        self._last_report: tuple[Stamp, str] | None = None

    async def run(self) -> None:
        """Look at the file until the task is cancelled."""
        while True:
            await asyncio.sleep(RELOAD_EVERY_S)
            await self.look()

    async def look(self) -> None:
        """Take over the file if it has changed."""
        stamp = stamp_of(self._file)
        if stamp == self._stamp:
            return
        try:
            configuration = await asyncio.to_thread(read_configuration, self._file)
            await self._apply(configuration)
        except (SettingsError, ExtraError) as error:
            located_error = await asyncio.to_thread(locate, self._file, error)
            self._tell(stamp, f"not reloaded: {located_error}")
            if not isinstance(error.__cause__, OSError):  # else another try may succeed
                self._stamp = stamp
            return
        except Exception as error:  # whatever it is, the next round may succeed
            self._tell(stamp, f"not reloaded: {describe(error)}")
            return
        self._stamp, self._last_report = stamp, None
        self._say(f"reloaded {self._file}: {len(configuration.cameras)} cameras")

    def _tell(self, stamp: Stamp, reason: str) -> None:
        if (stamp, reason) != self._last_report:
            self._say(reason)
        self._last_report = stamp, reason


OWNER = re.compile("(sink|gate) (.+?): ")
"""Begin of messages about a part of the configuration."""


def locate(file: Path, error: PlateError) -> PlateError:
    """Return an error about a sink or a gate with the file and the line of its table.

    Args:
        file: The file of the configuration.
        error: An error of a part that was made of it. Its message begins like "sink erp: ".
    """
    owner = OWNER.match(str(error))
    if not owner:
        return error
    table, name = f"{owner[1]}s", owner[2]
    try:
        content = decode(file.read_bytes())
        names = [entry["name"] for entry in tomllib.loads(content)[table]]
        line = find_line(content, (table, names.index(name)))
    except (OSError, ValueError, LookupError, TypeError):  # it was changed meanwhile
        return error
    return type(error)(f"{file}: {error} (at line {line})")
