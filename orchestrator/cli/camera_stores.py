"""The store that a file of cameras, or a folder, stands for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.cameras.store.pass_store import PassStore


@contextmanager
def open_camera_store(file: Path) -> Iterator[PassStore]:
    """Open the store of a configuration, or that of a folder, until the block ends."""
    from orchestrator.cameras.configuration import Store, read_configuration
    from orchestrator.cameras.store.factory import open_store

    if file.is_dir():
        settings, folder = Store(), file
    else:
        settings, folder = read_configuration(file).store, file.absolute().parent
    with closing(open_store(settings, folder)) as store:
        yield store
