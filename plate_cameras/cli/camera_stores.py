"""The store of a file of cameras or of a folder, and the account that runs a command."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import SettingsError

if TYPE_CHECKING:
    from plate_cameras.configuration import Store
    from plate_cameras.store.finding.pass_query import Requester
    from plate_cameras.store.pass_store import PassStore


@contextmanager
def open_camera_store(file: Path, *, must_exist: bool = False) -> Iterator[PassStore]:
    """Open the store of a configuration, or that of a folder, until the block ends.

    Args:
        file: The file of cameras, or the folder.
        must_exist: True for a command that only makes sense with passes; no database is made.

    Raises:
        SettingsError: The file is wrong, or there is no database and one must exist.
    """
    from plate_cameras.store.factory import open_store

    if must_exist and not has_store(file):
        raise SettingsError(
            f"{file}: wanted a file of cameras or a folder with passes.db, found no passes.db. "
            "plates watch makes it"
        )
    with closing(open_store(*_settings_of(file))) as store:
        yield store


def has_store(file: Path) -> bool:
    """Tell whether there is a database, or the address of one."""
    settings, folder = _settings_of(file)
    return settings.url is not None or (folder / "passes.db").is_file()


def _settings_of(file: Path) -> tuple[Store, Path]:
    """Return the settings of the store, and the folder that they are for."""
    from plate_cameras.configuration import Store, read_configuration

    if file.is_dir():
        return Store(), file
    return read_configuration(file).store, file.absolute().parent


def requester_of(why: str) -> Requester:
    """Return the account on this machine that runs the command, for the audit.

    The name comes from the system, not from variables such as USER, and its prefix keeps it apart
    from people and keys of the control room.
    """
    from plate_cameras.store.finding.pass_query import Requester

    number = os.getuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:  # containers run under numbers without a name
        name = str(number)
    return Requester(f"account:{name}", why)
