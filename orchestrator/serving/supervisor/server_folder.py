"""A running server's files on disk and in shared memory, with paths that its workers can read."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.contract import SHM
from orchestrator.errors import ServerError
from orchestrator.host.locked_folders import LockedFolder, hold, is_same, remove_left_folders

OWNER = "owner"
"""Suffix of the lock file: it is locked as long as the other files are needed."""


@dataclass(frozen=True)
class Regions:
    """Files in shared memory with the same prefix.

    Services can share this memory without sharing /tmp: a container keeps it when it restarts. So
    these files have a lock of their own.

    Attributes:
        prefix: The prefix of their names.
        lock: A descriptor that child processes inherit, so that the lock is held as long as they
            live.
    """

    prefix: str
    lock: int
    _lock_stack: ExitStack = field(repr=False)

    @classmethod
    def make(cls) -> Regions:
        """Choose a prefix that no other service has.

        Raises:
            OSError: The folder cannot be written.
        """
        prefix = f"plates_{os.getpid()}_{secrets.token_hex(6)}_"
        new, stack = SHM / f"{prefix}new", ExitStack()
        try:
            lock = hold(stack, os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            new.rename(SHM / f"{prefix}{OWNER}")  # this name never exists without a lock
        except BaseException:
            new.unlink(missing_ok=True)
            stack.close()
            raise
        return cls(prefix, lock, stack)

    def close_to_others(self) -> None:
        """Let only this user read the files; Triton lets everybody."""
        for region in SHM.glob(f"{self.prefix}*"):
            with suppress(OSError):  # the file may be removed at this moment
                region.chmod(0o600)

    def remove(self) -> None:
        """Remove the files."""
        _clear(self.prefix)
        self._lock_stack.close()


def remove_left_regions() -> None:
    """Remove the regions whose owner and its child processes have ended."""
    for owner in SHM.glob(f"plates_*_{OWNER}"):
        with suppress(OSError), ExitStack() as stack:  # its owner lives, or it goes just now
            descriptor = os.open(owner, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            hold(stack, descriptor, fcntl.LOCK_NB)
            if is_same(owner, descriptor):
                _clear(owner.name.removesuffix(OWNER))


def _clear(prefix: str) -> None:
    """Remove the files with a prefix; the lock file last, as it marks the others for removal."""
    owner = SHM / f"{prefix}{OWNER}"
    for region in {*SHM.glob(f"{prefix}*")} - {owner}:
        with suppress(OSError):
            region.unlink()
    owner.unlink(missing_ok=True)


PLAIN = re.compile(r"[\w ./+-]+", re.ASCII)
"""Paths that need no link: no character in them separates or expands parts of a list of folders."""

UNRESOLVED = Path(__file__).with_name("unresolved_links.py")


@dataclass(frozen=True)
class ServerFolder:
    """The folder of one server.

    Workers start Python without a locale, which takes each path for ASCII and fails at others. In
    the environment, colons separate the lists of folders. Any other path is therefore reached
    through a link.

    Attributes:
        path: Its path, which is plain.
    """

    path: Path
    _locked_folder: LockedFolder = field(repr=False)
    _regions: Regions = field(repr=False)

    @classmethod
    def make(cls) -> ServerFolder:
        """Make the folder in TMPDIR.

        Raises:
            ServerError: There is no space for it.
        """
        with writing():
            locked_folder = LockedFolder.make()
            try:
                regions = Regions.make()
            except BaseException:
                locked_folder.remove()
                raise
            folder = cls(_plain_path(locked_folder.folder, regions.prefix), locked_folder, regions)
            folder.links.mkdir()
        return folder

    @property
    def shm_prefix(self) -> str:
        """The prefix of the names of the server's shared memory."""
        return self._regions.prefix

    @property
    def inherited_descriptors(self) -> tuple[int, int]:
        """Descriptors for the server and its workers to inherit.

        They tell a later service that the server and its workers still run after this process was
        killed.
        """
        return self._locked_folder.children, self._regions.lock

    @property
    def links(self) -> Path:
        """The folder of links to paths that are not plain."""
        return self.path / "links"

    @property
    def heartbeats(self) -> str:
        """Prefix of the paths of the workers' heartbeats, see `orchestrator.host.heartbeat`."""
        return str(SHM / f"{self.shm_prefix}beat_")

    def plain(self, path: Path) -> Path:
        """Return an absolute path to the same file that a worker can read."""
        path = path.absolute()
        if is_plain(path):
            return path
        link = self.links / str(len([*self.links.iterdir()]))
        link.symlink_to(path)
        return link

    def lay_out_python(self, packages: Iterable[Path]) -> Path:
        """Make a virtual environment with other folders' packages; return its programs' folder.

        A worker's Python finds its standard library and all packages through it, because it is
        isolated and ignores PYTHONPATH. In an environment elsewhere it would read .pth files that
        contain paths which are not ASCII.
        """
        root = self.path / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site = root / "lib" / version / "site-packages"
        site.mkdir(parents=True)
        lines = [str(self.plain(folder)) for folder in packages]
        if any(self.links.iterdir()):
            shutil.copy(UNRESOLVED, site)
            lines.insert(0, f"import {UNRESOLVED.stem}")  # a .pth file may contain this
        (site / "plates.pth").write_text("\n".join([*lines, ""]), encoding="ascii")
        (root / "bin").mkdir()
        (root / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
        home = self.plain(Path(sys.base_prefix)) / "bin"
        settings = f"home = {home}\ninclude-system-site-packages = false\n"
        (root / "pyvenv.cfg").write_text(settings, encoding="ascii")
        return root / "bin"

    def close_shared_memory(self) -> None:
        """Let only this user read the server's shared memory; Triton lets everybody."""
        self._regions.close_to_others()

    def remove(self) -> None:
        """Remove the folder, and what the server and its workers left in shared memory."""
        self._regions.remove()
        self._locked_folder.remove()


def remove_leftovers() -> None:
    """Remove the files of killed services, and end those of their processes that still run.

    A running service keeps its files, in whatever container it is.
    """
    remove_left_folders()  # first: the processes that this ends still have regions
    remove_left_folders(SHM)
    remove_left_regions()


def _plain_path(folder: Path, shm_prefix: str) -> Path:
    """Return a plain path to a folder: its own, or a link that goes with the shared memory."""
    if is_plain(folder):
        return folder
    link = SHM / f"{shm_prefix}folder"
    link.symlink_to(folder)
    return link


def is_plain(path: Path) -> bool:
    return bool(PLAIN.fullmatch(str(path)))


@contextmanager
def writing() -> Iterator[None]:
    """Turn an OSError into a ServerError of one sentence.

    Raises:
        ServerError: A file could not be written.
    """
    try:
        yield
    except OSError as error:
        where = error.filename2 or error.filename or "TMPDIR"  # both None: no folder to try
        elsewhere = "" if str(where).startswith(str(SHM)) else "; TMPDIR says where there is more"
        raise ServerError(
            f"{where}: no room to write to: {error.strerror or error}{elsewhere}"
        ) from error
