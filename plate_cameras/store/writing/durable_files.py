"""Files that are there as a whole or not at all, even after a power cut."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.host.disk_files import sync

NEW = ".new-"
"""Start of the names of files that are not complete."""
AT_ONCE = 8
"""Files that are synced at the same time."""


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file under another name in the same folder, sync it, and rename it.

    Raises:
        OSError: The disk does not take it. Nothing is left then.
    """
    temporary: dict[Path, Path] = {}
    with _remove_after_errors(temporary):
        temporary[file] = _write_new(file, content)
        sync(temporary[file])
        temporary[file].rename(file)
        temporary[file] = file
        sync(file.parent)


def write_together(contents: Mapping[Path, bytes], root: Path, threads: Executor) -> None:
    """Write several files as `write_atomically` does, and their folders below a root.

    Threads sync them at the same time: the disk confirms several in one go.

    Raises:
        OSError: The disk does not take all of them. Some may be there then.
    """
    temporary: dict[Path, Path] = {}
    changed_folders: set[Path] = set()
    try:
        with _remove_after_errors(temporary):
            for file, content in contents.items():
                _make_folder(file.parent, root, changed_folders)
                temporary[file] = _write_new(file, content)
            _sync_all(temporary.values(), threads)
            for file, new_file in temporary.items():
                new_file.rename(file)
                changed_folders.add(file.parent)
    finally:
        _sync_all(changed_folders, threads)


def _make_folder(folder: Path, root: Path, changed_folders: set[Path]) -> None:
    """Make a folder and those above it, and note the folders whose names have changed."""
    if folder.is_dir():
        return
    if folder != root:
        _make_folder(folder.parent, root, changed_folders)
    folder.mkdir(parents=folder == root, exist_ok=True)
    changed_folders.add(folder.parent)


def _write_new(file: Path, content: bytes) -> Path:
    """Write a file under another name in the same folder."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=NEW)
    try:
        with open(descriptor, "wb") as stream:  # noqa: PTH123 - a descriptor, no path
            stream.write(content)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


@contextmanager
def _remove_after_errors(temporary: Mapping[Path, Path]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for new_file in temporary.values():
            with suppress(OSError):  # a disk that takes nothing may not delete either
                new_file.unlink(missing_ok=True)
        raise


def _sync_all(paths: Iterable[Path], threads: Executor) -> None:
    all_paths = [*paths]
    shares = (all_paths[first::AT_ONCE] for first in range(min(AT_ONCE, len(all_paths))))
    for future in [threads.submit(_sync_each, share) for share in shares]:
        future.result()


def _sync_each(paths: Iterable[Path]) -> None:
    for path in paths:
        sync(path)
