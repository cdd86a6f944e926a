"""Pictures by the hash of their content, in a folder or in S3."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from orchestrator.errors import SettingsError
from plate_cameras.store.errors import StoreUnavailable, UnknownName
from plate_cameras.store.writing.durable_files import AT_ONCE, NEW, write_together

MAX_PICTURE_BYTES = 64 * 2**20
"""Largest picture that is read."""
S3 = "s3://"


class PictureStore(Protocol):
    """Keeps pictures by their digests. Its calls may block."""

    def put_all(self, jpegs: Mapping[bytes, bytes]) -> None:
        """Keep pictures by their digests, several at once.

        Raises:
            StoreUnavailable: A picture cannot be written. Others may have been.
        """

    def get(self, digest: bytes) -> bytes: ...
    def remove_all(self, digests: Sequence[bytes]) -> None:
        """Remove pictures, several at once."""

    def old(self, before_s: float) -> Iterator[bytes]:
        """Yield the digests of the pictures that were written before a Unix time."""


def digest_of(jpeg: bytes) -> bytes:
    """Return the SHA-256 of a picture's file."""
    return hashlib.sha256(jpeg).digest()


def put_all(store: PictureStore, jpegs: Iterable[bytes]) -> None:
    """Keep pictures.

    Raises:
        StoreUnavailable: A picture cannot be written. Others may have been.
    """
    store.put_all({digest_of(jpeg): jpeg for jpeg in jpegs if jpeg})


def open_pictures(place: str, environ: Mapping[str, str] = os.environ) -> PictureStore:
    """Return the pictures in a folder, or at an address `s3://bucket/folder`.

    Raises:
        SettingsError: The address is not usable.
        ExtraError: PyArrow, which reaches S3, is not installed.
    """
    if not place.startswith(S3):
        return PictureFolder(Path(place))
    path = place.removeprefix(S3).strip("/")
    if not path:
        raise SettingsError(f"store.pictures: wanted s3://bucket/folder, got {place}")
    from plate_cameras.store.writing.picture_bucket import open_bucket

    return open_bucket(path, environ)


class PictureFolder:
    """Pictures in a folder, in two levels of folders by the first bytes of the hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._threads = ThreadPoolExecutor(AT_ONCE, "pictures")

    def put_all(self, jpegs: Mapping[bytes, bytes]) -> None:
        """Write pictures so that each is there as a whole or not at all, even after a power cut."""
        files = {self._file(digest): jpeg for digest, jpeg in jpegs.items()}
        try:
            new = {file: jpeg for file, jpeg in files.items() if not file.exists()}
            write_together(new, self.folder, self._threads)
        except OSError as error:
            raise StoreUnavailable(
                f"a picture cannot be written: {error.strerror or error}"
            ) from error

    def get(self, digest: bytes) -> bytes:
        """Return a picture.

        Raises:
            UnknownName: There is none with this hash.
        """
        try:
            with self._file(digest).open("rb") as file:
                return read_limited(file)
        except FileNotFoundError as error:
            raise UnknownName(f"there is no picture {digest.hex()}") from error
        except OSError as error:
            raise StoreUnavailable(
                f"a picture cannot be read: {error.strerror or error}"
            ) from error

    def remove(self, digest: bytes) -> None:
        """Remove a picture, and its folders if they are empty then."""
        file = self._file(digest)
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"a picture cannot be removed: {error.strerror or error}"
            ) from error
        with suppress(OSError):  # other pictures are in it
            file.parent.rmdir()
            file.parent.parent.rmdir()

    def remove_all(self, digests: Sequence[bytes]) -> None:
        for digest in digests:
            self.remove(digest)

    def old(self, before_s: float) -> Iterator[bytes]:
        """Yield the digests of earlier pictures; delete what killed processes have left."""
        for folder, _, names in os.walk(self.folder):
            for file in (Path(folder, name) for name in names):
                if digest := self._old(file, before_s):
                    yield digest

    @staticmethod
    def _old(file: Path, before_s: float) -> bytes | None:
        try:
            if file.stat().st_mtime >= before_s:
                return None
            if file.name.startswith(NEW):
                file.unlink()
        except FileNotFoundError:  # removed meanwhile
            return None
        except OSError as error:
            raise StoreUnavailable(f"{file}: {error.strerror or error}") from error
        return digest_of_path(file.name)

    def _file(self, digest: bytes) -> Path:
        return self.folder / path_of(digest)


def read_limited(stream: Any) -> bytes:
    """Return the content of a stream.

    Raises:
        OSError: It is too large for a picture.
    """
    content = bytes(stream.read(MAX_PICTURE_BYTES + 1))
    if len(content) > MAX_PICTURE_BYTES:
        raise OSError(f"wanted a picture of at most {MAX_PICTURE_BYTES} bytes")
    return content


def path_of(digest: bytes) -> str:
    """Return the path of a picture below the folder of all."""
    name = digest.hex()
    return f"{name[:2]}/{name[2:4]}/{name}.jpg"


def digest_of_path(name: str) -> bytes | None:
    """Return the digest that a file's name has; None for a file that is no picture of ours."""
    match = re.fullmatch(r"([0-9a-f]{64})\.jpg", name)
    return bytes.fromhex(match[1]) if match else None
