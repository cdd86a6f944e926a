"""What a running server keeps on disk and in shared memory, and paths that its workers can read."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.contract import SHM
from orchestrator.errors import ServerError

PLAIN = re.compile(r"[\w ./+-]+", re.ASCII)
"""Paths that need no link: no other separates or expands anything in a list of folders."""

UNRESOLVED = Path(__file__).with_name("unresolved.py")


@dataclass(frozen=True)
class Runtime:
    """The folder of one server.

    Workers start Python without a locale: it takes each path for ASCII and fails at others, and
    the lists of folders in the environment are separated by colons. Whatever lies under another
    path is reached through a link.

    Attributes:
        folder: Where it is, as a plain path.
        shm_prefix: How the names of the server's shared memory begin.
    """

    folder: Path
    shm_prefix: str
    _kept: tempfile.TemporaryDirectory[str] = field(repr=False)

    @classmethod
    def make(cls) -> Runtime:
        """Make the folder where TMPDIR says.

        Raises:
            ServerError: There is no room for it.
        """
        shm_prefix = f"plates_{os.getpid()}_{time.monotonic_ns()}_"
        with writing():
            kept = tempfile.TemporaryDirectory(prefix="plates-")
            folder = Path(kept.name)
            if not is_plain(folder):
                folder = SHM / f"{shm_prefix}folder"
                folder.symlink_to(kept.name)
            runtime = cls(folder, shm_prefix, kept)
            runtime.links.mkdir()
        return runtime

    @property
    def links(self) -> Path:
        """The folder of links to what lies under paths that are not plain."""
        return self.folder / "links"

    @property
    def heartbeats(self) -> str:
        """How the paths begin of what the workers write down, see `orchestrator.heartbeat`."""
        return str(SHM / f"{self.shm_prefix}beat_")

    def plain(self, path: Path) -> Path:
        """Return an absolute path to the same, which a worker can read."""
        path = path.absolute()
        if is_plain(path):
            return path
        link = self.links / str(len([*self.links.iterdir()]))
        link.symlink_to(path)
        return link

    def lay_out_python(self, packages: Iterable[Path]) -> Path:
        """Make a virtual environment with other folders' packages; return where its programs are.

        A worker's Python finds its standard library and all else through it, for it is isolated
        and heeds no PYTHONPATH. In an environment elsewhere it would read .pth files that name
        paths which are not ASCII.
        """
        root = self.folder / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site = root / "lib" / version / "site-packages"
        site.mkdir(parents=True)
        lines = [str(self.plain(folder)) for folder in packages]
        if any(self.links.iterdir()):
            shutil.copy(UNRESOLVED, site)
            lines.insert(0, f"import {UNRESOLVED.stem}")  # which a .pth file may hold
        (site / "plates.pth").write_text("\n".join([*lines, ""]), encoding="ascii")
        (root / "bin").mkdir()
        (root / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
        home = self.plain(Path(sys.base_prefix)) / "bin"
        settings = f"home = {home}\ninclude-system-site-packages = false\n"
        (root / "pyvenv.cfg").write_text(settings, encoding="ascii")
        return root / "bin"

    def close_shared_memory(self) -> None:
        """Let this user alone read what lies in shared memory; Triton lets everybody."""
        for region in SHM.glob(f"{self.shm_prefix}*"):
            with suppress(OSError):  # it may go while we look
                region.chmod(0o600)

    def remove(self) -> None:
        """Remove it, and what the server and its workers left in shared memory."""
        for region in SHM.glob(f"{self.shm_prefix}*"):
            region.unlink(missing_ok=True)
        self._kept.cleanup()


def is_plain(path: Path) -> bool:
    return bool(PLAIN.fullmatch(str(path)))


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock a folder, so that who tidies up /tmp leaves it alone; systemd-tmpfiles asks for that."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


@contextmanager
def writing() -> Iterator[None]:
    """Turn an OSError into one sentence.

    Raises:
        ServerError: A file could not be written.
    """
    try:
        yield
    except OSError as error:
        where = error.filename2 or error.filename or "TMPDIR"  # none where it has no candidate
        raise ServerError(
            f"{where}: no room to write to: {error.strerror or error}; "
            "TMPDIR says where there is more"
        ) from error
