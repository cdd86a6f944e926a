"""Pictures of a folder, into which an FTP server or a recorder writes them.

A writer to this folder is not trusted: links are not followed, neither to files nor to folders,
and a picture is opened, moved and deleted by the folder that was looked at, whatever its name is
now.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from orchestrator.errors import ServerError
from orchestrator.host.daemon_threads import DaemonThreads
from orchestrator.host.text_lines import to_line
from orchestrator.imaging.files import SUFFIXES
from orchestrator.imaging.headers import check_file
from plate_cameras.clocks import steady_s
from plate_cameras.frames import Upload
from plate_cameras.message_forms import DELETE
from plate_cameras.sources.network.policy import MAX_PIXELS
from plate_cameras.sources.sent.message_reader import MAX_PICTURE_BYTES
from plate_cameras.sources.sent.sent_stream import SentPicture

LOG = logging.getLogger(__name__)
READ, BROKEN = ASIDE = ("read", "broken")
"""Folders for pictures that were read, and for those that cannot be."""
SCAN_S, SETTLED_S = 1.0, 2.0
"""Pause between two scans of the folder, and the time for which a file must not change."""
UNFINISHED_S = 60.0
"""Time for which a JPEG file without its end, or a file that is no picture, must not change: a
slow sender may still write it."""
MAX_DEPTH = 8
"""Folders inside each other that are looked at."""
MAX_FILES = 10_000
"""Files that are looked at in one round; the others follow when these are gone."""
MAX_NAME_BYTES = 200
"""Largest part of a file's name that is kept. A file system takes 255 bytes."""
MAX_PICTURES, MAX_BYTES = 8, 32 * 1024 * 1024
"""Pictures that are read at once, and their size from which on no further one is read."""
ANSWER_S = 10.0
"""Longest wait for a file system. That of another machine may be silent for ever."""
SCAN_LIMIT_S = 5.0
"""Time after which a scan asks for no further file: a slow file system must answer in time."""
RETRY_S = 60.0
"""Pause between two attempts to read, move or delete a file that stays."""
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class _Version:
    """State of a file. Each change of the file gives it another one."""

    inode: int
    size: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> _Version:
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)


_NewFile = tuple[Path, _Version, SentPicture]


@dataclass(frozen=True)
class _TakenFile:
    """A file that was given out. One that stays has a `problem`, and is tried again.

    Then `finish` moves or deletes it; without `finish` it is read.
    """

    version: _Version
    problem: str = ""
    retry_s: float = float("inf")
    finish: Callable[[], None] | None = None


class FolderPictures:
    """The pictures of one folder, the oldest first. Each is given out once.

    Args:
        folder: The folder.
        afterwards: What becomes of a picture that was read: `move` or `delete`.
        threads: The thread in which its file system is asked; one of its own if it is left out.

    Attributes:
        problem: The reason why some files are not read or not moved; empty if all are.
    """

    def __init__(self, folder: Path, afterwards: str, threads: Executor | None = None) -> None:
        self._folder, self._afterwards = folder, afterwards
        self._threads = threads or make_folder_thread()
        self._waiting_files: dict[Path, tuple[_Version, float]] = {}
        self._taken_files: dict[Path, _TakenFile] = {}
        self._next_s = float("-inf")
        self._first_problem = self.problem = ""

    async def take(self) -> Sequence[SentPicture]:
        """Return the next pictures that do not change any more.

        Raises:
            ServerError: The folder cannot be read.
        """
        now_s = steady_s()
        if now_s < self._next_s:
            return ()
        self._next_s = now_s + SCAN_S
        try:
            new_files = await self._run(lambda: self._scan(now_s))
        except OSError as error:
            raise ServerError(f"cannot read the folder: {error.strerror}") from None
        if new_files:  # more may wait
            self._next_s = now_s
        # Here, because nobody gets the pictures of a scan that ends too late.
        self._taken_files |= {path: _TakenFile(version) for path, version, _ in new_files}
        return [picture for _, _, picture in new_files]

    async def _run(self, call: Callable[[], ResultT]) -> ResultT:
        """Run a call in the folder's own thread, so that a hanging call delays no other folder."""
        running = asyncio.wrap_future(self._threads.submit(call))
        if not (await asyncio.wait({running}, timeout=ANSWER_S))[0]:
            running.cancel()
            raise ServerError(f"the folder has not answered for {ANSWER_S:g} s")
        return running.result()

    def _scan(self, now_s: float) -> list[_NewFile]:
        ends_s, size, new_files = now_s + SCAN_LIMIT_S, 0, list[_NewFile]()
        settled_files = [*self._find_settled(now_s, ends_s), *self._find_due(now_s, ends_s)]
        for _, path, version in sorted(settled_files, key=itemgetter(0, 1)):
            if picture := self._read(path, version, now_s - self._waiting_files[path][1]):
                new_files.append((path, version, picture))
                size += len(picture.content)
            if len(new_files) == MAX_PICTURES or size >= MAX_BYTES or steady_s() >= ends_s:
                break
        return new_files

    def _find_due(self, now_s: float, ends_s: float) -> Iterator[tuple[int, Path, _Version]]:
        """Move or delete files that could not be; return those to be read again."""
        for path, taken_file in [*self._taken_files.items()]:
            if now_s < taken_file.retry_s or steady_s() >= ends_s:
                continue
            if taken_file.finish:
                taken_file.finish()
            else:
                self._waiting_files[path] = taken_file.version, float("-inf")
                yield taken_file.version.changed_ns, path, taken_file.version

    def _find_settled(self, now_s: float, ends_s: float) -> list[tuple[int, Path, _Version]]:
        """Return the files that do not change any more, with the times of their last change."""
        files_before, self._waiting_files = self._waiting_files, {}
        settled_files, taken_files, problems = [], {}, dict[str, None]()
        for path, version in self._walk(problems):
            taken_file = self._taken_files.get(path)
            if taken_file and taken_file.version == version:
                taken_files[path] = taken_file
                problems |= {taken_file.problem: None} if taken_file.problem else {}
                continue
            if len(self._waiting_files) == MAX_FILES or steady_s() >= ends_s:
                self._taken_files |= taken_files
                break
            version_before, since_s = files_before.get(path, (version, now_s))
            since_s = since_s if version_before == version else now_s
            self._waiting_files[path] = version, since_s
            if now_s - since_s >= SETTLED_S:
                settled_files.append((version.changed_ns, path, version))
        else:
            self._taken_files = taken_files
        self._tell([*problems])
        return settled_files

    def _tell(self, problems: Sequence[str]) -> None:
        """Note the problems of all files, and log the first one if it is new."""
        problem = problems[0] if problems else ""
        more = f"; {len(problems) - 1} more" if len(problems) > 1 else ""
        self.problem = problem + more
        if problem and problem != self._first_problem:
            LOG.error("%s%s", problem, more)
        self._first_problem = problem

    def _describe(self, path: Path, how: str, error: OSError) -> str:
        return to_line(f"{self._folder / path} cannot be {how}: {error.strerror}")

    def _walk(self, problems: dict[str, None]) -> Iterator[tuple[Path, _Version]]:
        """Return the pictures below the folder by their relative paths; note other problems."""
        top = os.fspath(self._folder.resolve(strict=True))

        def note(error: OSError) -> None:
            if error.filename == top:
                raise error
            if not isinstance(error, FileNotFoundError):
                problems[self._describe(Path(str(error.filename)), "read", error)] = None

        for root, folders, files, folder_fd in os.fwalk(top, onerror=note):
            relative = Path(root).relative_to(top)
            skipped_names = ASIDE if root == top else ()
            is_deep = len(relative.parts) >= MAX_DEPTH
            folders[:] = [] if is_deep else [name for name in folders if name not in skipped_names]
            for name in files:
                if Path(name).suffix.lower() not in SUFFIXES or name.startswith("."):
                    continue
                with suppress(OSError):  # it is gone
                    status = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        yield relative / name, _Version.of(status)

    def _read(self, path: Path, version: _Version, settled_s: float) -> SentPicture | None:
        """Return a picture; None if it is not complete, or cannot be read."""
        try:
            content = self._content_of(path, version)
        except FileNotFoundError:  # it was changed
            return None
        except OSError as error:
            problem = self._describe(path, "read", error)
            self._taken_files[path] = _TakenFile(version, problem, steady_s() + RETRY_S)
            return None
        if settled_s < UNFINISHED_S and _may_grow(content):
            return None
        digest = hashlib.sha256(os.fsencode(path) + b"|" + content).digest()
        where = None if self._afterwards == DELETE else READ
        finish = partial(self._finish, path, version)
        upload = Upload(digest, partial(finish, where), partial(finish, BROKEN))
        return SentPicture(content, max(0.0, version.changed_ns / 1e9), "wall", upload)

    def _content_of(self, path: Path, version: _Version) -> bytes:
        with _open_folder(self._folder, path.parent) as folder_fd:
            file_fd = os.open(path.name, FILE_FLAGS, dir_fd=folder_fd)
        with os.fdopen(file_fd, "rb") as file:
            if _Version.of(os.fstat(file_fd)) != version:
                raise FileNotFoundError
            content = file.read(MAX_PICTURE_BYTES + 1)
        return content if len(content) <= MAX_PICTURE_BYTES else b"too large"

    async def _finish(self, path: Path, version: _Version, where: str | None) -> None:
        """Delete a file, or move it into a folder. After a failure it is tried again later."""
        await self._run(lambda: self._try_to_finish(path, version, where))

    def _try_to_finish(self, path: Path, version: _Version, where: str | None) -> None:
        try:
            self._change(path, version, where)
        except OSError as error:
            problem = self._describe(path, "moved" if where else "deleted", error)
            again = partial(self._try_to_finish, path, version, where)
            self._taken_files[path] = _TakenFile(version, problem, steady_s() + RETRY_S, again)

    def _change(self, path: Path, version: _Version, where: str | None) -> None:
        with _open_folder(self._folder, path.parent) as folder_fd:
            status = os.stat(path.name, dir_fd=folder_fd, follow_symlinks=False)
            if _Version.of(status) != version:
                return  # it is another file by now, and will be read
            if where is None:
                os.unlink(path.name, dir_fd=folder_fd)
                return
            with _open_folder(self._folder, Path()) as top_fd, suppress(FileExistsError):
                os.mkdir(where, 0o700, dir_fd=top_fd)
            end = os.fsencode("-".join(path.parts))[-MAX_NAME_BYTES:]
            name = f"{version.changed_ns // 10**6}-{os.fsdecode(end)}"
            with _open_folder(self._folder, Path(where)) as aside_fd:
                os.rename(path.name, name, src_dir_fd=folder_fd, dst_dir_fd=aside_fd)


def _may_grow(content: bytes) -> bool:
    """Tell whether a file lacks its end. The end of a thumbnail inside of it does not count."""
    try:
        return check_file(content, MAX_PIXELS).is_cut
    except Exception:  # mostly a PictureError; whatever it is, one file must not hold up others
        return True


def make_folder_thread() -> Executor:
    """Return a thread for one folder. The end of the process does not wait for it."""
    return DaemonThreads(1, "folder")


@contextmanager
def _open_folder(top: Path, relative: Path) -> Iterator[int]:
    """Open a folder below another one, without links on the way, inside a `with` block."""
    folder_fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in relative.parts:
            inner_fd = os.open(name, FOLDER_FLAGS, dir_fd=folder_fd)
            os.close(folder_fd)
            folder_fd = inner_fd
        yield folder_fd
    finally:
        os.close(folder_fd)
