"""Pictures by the hash of their content, in a folder or in S3."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from orchestrator.cameras.store.durable_files import AT_ONCE, NEW, write_together
from orchestrator.cameras.store.errors import StoreUnavailable, UnknownName
from orchestrator.errors import ExtraError, SettingsError

S3 = "s3://"
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Variables for the URL of a private storage, with the names that AWS uses."""
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
ANY_REGION = "us-east-1"  # the region that a private storage, such as MinIO, expects


class PictureStore(Protocol):
    """Keeps pictures by their digests. Its calls may block."""

    def put_all(self, jpegs: Mapping[bytes, bytes]) -> None:
        """Keep pictures by their digests, several at once.

        Raises:
            StoreUnavailable: A picture cannot be written. Others may have been.
        """

    def get(self, digest: bytes) -> bytes: ...
    def remove(self, digest: bytes) -> None: ...
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
    return PictureBucket(_open_s3(path, environ), path)


class PictureFolder:
    """Pictures in a folder, in two levels of folders by the first bytes of the hash.

    Attributes:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._threads = ThreadPoolExecutor(AT_ONCE, "pictures")

    def put_all(self, jpegs: Mapping[bytes, bytes]) -> None:
        """Write pictures so that each is there as a whole or not at all, even after a power cut.

        Raises:
            StoreUnavailable: The disk does not take them.
        """
        files = {self._file(digest): jpeg for digest, jpeg in jpegs.items()}
        try:
            new = {file: jpeg for file, jpeg in files.items() if not file.exists()}
            write_together(new, self.folder, self._threads)
        except OSError as error:
            raise StoreUnavailable(f"a picture cannot be written: {error.strerror}") from error

    def get(self, digest: bytes) -> bytes:
        """Return a picture.

        Raises:
            UnknownName: There is none with this hash.
        """
        try:
            return self._file(digest).read_bytes()
        except FileNotFoundError as error:
            raise UnknownName(f"there is no picture {digest.hex()}") from error
        except OSError as error:
            raise StoreUnavailable(f"a picture cannot be read: {error.strerror}") from error

    def remove(self, digest: bytes) -> None:
        """Remove a picture, and its folders if they are empty then."""
        file = self._file(digest)
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"a picture cannot be removed: {error.strerror}") from error
        with suppress(OSError):  # other pictures are in it
            file.parent.rmdir()
            file.parent.parent.rmdir()

    def old(self, before_s: float) -> Iterator[bytes]:
        """Yield the digests of earlier pictures; delete what killed processes have left."""
        for folder, _, names in os.walk(self.folder):
            for file in (Path(folder, name) for name in names):
                with suppress(FileNotFoundError):  # removed meanwhile
                    if file.stat().st_mtime >= before_s:
                        continue
                    if file.name.startswith(NEW):
                        file.unlink()
                    elif digest := _digest_of_path(file.name):
                        yield digest

    def _file(self, digest: bytes) -> Path:
        return self.folder / _path_of(digest)


class PictureBucket:
    """Pictures in S3.

    Args:
        filesystem: A `pyarrow.fs.FileSystem`.
        path: Bucket and folder.
    """

    def __init__(self, filesystem: Any, path: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self._threads = ThreadPoolExecutor(AT_ONCE, "pictures")

    def put_all(self, jpegs: Mapping[bytes, bytes]) -> None:
        for written in [self._threads.submit(self._put, *item) for item in jpegs.items()]:
            written.result()

    def _put(self, digest: bytes, jpeg: bytes) -> None:
        try:
            with self._filesystem.open_output_stream(self._file(digest)) as stream:
                stream.write(jpeg)
        except OSError as error:
            raise StoreUnavailable(f"a picture cannot be written to S3: {error}") from error

    def get(self, digest: bytes) -> bytes:
        try:
            with self._filesystem.open_input_stream(self._file(digest)) as stream:
                return bytes(stream.read())
        except FileNotFoundError as error:
            raise UnknownName(f"there is no picture {digest.hex()}") from error
        except OSError as error:
            raise StoreUnavailable(f"a picture cannot be read from S3: {error}") from error

    def remove(self, digest: bytes) -> None:
        try:
            self._filesystem.delete_file(self._file(digest))
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreUnavailable(f"a picture cannot be removed from S3: {error}") from error

    def old(self, before_s: float) -> Iterator[bytes]:
        """Yield the digests of earlier pictures."""
        fs: Any = import_module("pyarrow.fs")
        chosen = fs.FileSelector(self._path, allow_not_found=True, recursive=True)
        try:
            for info in self._filesystem.get_file_info(chosen):
                digest = _digest_of_path(info.base_name)
                if digest and info.mtime_ns and info.mtime_ns < before_s * 1e9:
                    yield digest
        except OSError as error:
            raise StoreUnavailable(f"pictures in S3 cannot be listed: {error}") from error

    def _file(self, digest: bytes) -> str:
        return f"{self._path}/{_path_of(digest)}"


def _path_of(digest: bytes) -> str:
    name = digest.hex()
    return f"{name[:2]}/{name[2:4]}/{name}.jpg"


def _digest_of_path(name: str) -> bytes | None:
    """Return the digest that a file's name has; None for a file that is no picture of ours."""
    found = re.fullmatch(r"([0-9a-f]{64})\.jpg", name)
    return bytes.fromhex(found[1]) if found else None


def _open_s3(path: str, environ: Mapping[str, str]) -> Any:
    try:
        fs: Any = import_module("pyarrow.fs")
    except ModuleNotFoundError as error:
        raise ExtraError(
            "pictures in S3 need the extra s3: pip install -e '.[s3]' brings it"
        ) from error
    endpoint = next((environ[name] for name in ENDPOINTS if environ.get(name)), "").rstrip("/")
    scheme, _, host = endpoint.rpartition("://")
    region = next((environ[name] for name in REGIONS if environ.get(name)), "")
    try:
        if host:
            return fs.S3FileSystem(
                region=region or ANY_REGION, endpoint_override=host, scheme=scheme or "https"
            )
        return fs.S3FileSystem(region=region or fs.resolve_s3_region(path.partition("/")[0]))
    except (OSError, ValueError) as error:
        raise SettingsError(f"store.pictures: {S3}{path}: {error}") from error
