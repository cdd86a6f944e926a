"""What a running server keeps on disk and in shared memory, and paths that its workers can read."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.contract import SHM
from orchestrator.errors import ServerError
from orchestrator.owned import OwnedFolder, remove_left_folders
from orchestrator.server.shared_memory import Regions, remove_left_regions

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
    """

    folder: Path
    _owned: OwnedFolder = field(repr=False)
    _regions: Regions = field(repr=False)

    @classmethod
    def make(cls) -> Runtime:
        """Make the folder where TMPDIR says.

        Raises:
            ServerError: There is no room for it.
        """
        with writing():
            owned = OwnedFolder.make()
            try:
                regions = Regions.make()
            except BaseException:
                owned.remove()
                raise
            runtime = cls(_plain_path(owned.folder, regions.prefix), owned, regions)
            runtime.links.mkdir()
        return runtime

    @property
    def shm_prefix(self) -> str:
        """How the names of the server's shared memory begin."""
        return self._regions.prefix

    @property
    def inherited(self) -> tuple[int, int]:
        """Descriptors for the server and its workers to inherit.

        They tell whoever starts next, when this process was killed, that those are there still.
        """
        return self._owned.children, self._regions.lock

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
        self._regions.close_to_others()

    def remove(self) -> None:
        """Remove it, and what the server and its workers left in shared memory."""
        self._regions.remove()
        self._owned.remove()


def remove_leftovers() -> None:
    """Remove what services left that were killed, and end what of their processes is there still.

    What belongs to a service that runs is left alone, in whatever container that is.
    """
    remove_left_folders()  # first: what they end has regions
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
    """Turn an OSError into one sentence.

    Raises:
        ServerError: A file could not be written.
    """
    try:
        yield
    except OSError as error:
        where = error.filename2 or error.filename or "TMPDIR"  # none where it has no candidate
        elsewhere = "" if str(where).startswith(str(SHM)) else "; TMPDIR says where there is more"
        raise ServerError(
            f"{where}: no room to write to: {error.strerror or error}{elsewhere}"
        ) from error
