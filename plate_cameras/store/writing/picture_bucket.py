"""Pictures in S3, within limits of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from orchestrator.errors import ExtraError, SettingsError
from plate_cameras.store.errors import StoreUnavailable, UnknownName
from plate_cameras.store.tables.bounded_calls import BoundedCalls
from plate_cameras.store.writing.durable_files import AT_ONCE
from plate_cameras.store.writing.pictures import S3, digest_of_path, path_of, read_limited

S3_S, S3_LIST_S = 10.0, 60.0
"""Longest time for a call of S3, and for a list of one of 256 folders."""
S3_CONNECT_S, S3_REQUEST_S, S3_ATTEMPTS = 3.0, 5.0, 2
S3_CALLS = 2 * AT_ONCE
"""Largest number of calls at once. Those that hang are given up, but each keeps its thread."""
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Variables for the URL of a private storage, with the names that AWS uses."""
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
ANY_REGION = "us-east-1"  # the region that a private storage, such as MinIO, expects


class PictureBucket:
    """Pictures in S3. A storage that does not answer within `S3_S` counts as away.

    Args:
        filesystem: A `pyarrow.fs.FileSystem`.
        limit_s: Longest time for the pictures of one write, and for any other call.
    """

    def __init__(self, filesystem: Any, path: str, limit_s: float = S3_S) -> None:
        self._filesystem = filesystem
        self._path = path
        self._calls = BoundedCalls("the storage of pictures", S3_CALLS, limit_s)

    def put_all(self, jpegs: Mapping[bytes, bytes]) -> None:
        self._share([*jpegs], lambda digest: self._put(digest, jpegs[digest]))

    def get(self, digest: bytes) -> bytes:
        def read() -> bytes:
            with self._filesystem.open_input_stream(self._file(digest)) as stream:
                return read_limited(stream)

        try:
            return self._calls.run(read)
        except FileNotFoundError as error:
            raise UnknownName(f"there is no picture {digest.hex()}") from error
        except OSError as error:
            raise StoreUnavailable(f"a picture cannot be read from S3: {error}") from error

    def remove_all(self, digests: Sequence[bytes]) -> None:
        self._share(digests, self._remove)

    def old(self, before_s: float) -> Iterator[bytes]:
        fs: Any = import_module("pyarrow.fs")
        for first in range(256):
            folder = f"{self._path}/{first:02x}"
            selector = fs.FileSelector(folder, allow_not_found=True, recursive=True)
            try:
                list_folder = partial(self._filesystem.get_file_info, selector)
                files = self._calls.run(list_folder, S3_LIST_S)
            except OSError as error:
                raise StoreUnavailable(f"pictures in S3 cannot be listed: {error}") from error
            for file in files:
                digest = digest_of_path(file.base_name)
                if digest and file.mtime_ns and file.mtime_ns < before_s * 1e9:
                    yield digest

    def _share(self, digests: Sequence[bytes], call: Callable[[bytes], None]) -> None:
        """Apply a function to some pictures, several at once."""

        def each(share: Sequence[bytes]) -> None:
            for digest in share:
                call(digest)

        shares = (digests[first::AT_ONCE] for first in range(min(AT_ONCE, len(digests))))
        self._calls.run_all([partial(each, share) for share in shares])

    def _put(self, digest: bytes, jpeg: bytes) -> None:
        try:
            with self._filesystem.open_output_stream(self._file(digest)) as stream:
                stream.write(jpeg)
        except OSError as error:
            raise StoreUnavailable(f"a picture cannot be written to S3: {error}") from error

    def _remove(self, digest: bytes) -> None:
        try:
            self._filesystem.delete_file(self._file(digest))
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreUnavailable(f"a picture cannot be removed from S3: {error}") from error

    def _file(self, digest: bytes) -> str:
        return f"{self._path}/{path_of(digest)}"


def open_bucket(path: str, environ: Mapping[str, str]) -> PictureBucket:
    """Return the pictures in a bucket and a folder.

    Raises:
        SettingsError: The address is not usable.
        ExtraError: PyArrow, which reaches S3, is not installed.
    """
    try:
        fs: Any = import_module("pyarrow.fs")
    except ModuleNotFoundError as error:
        raise ExtraError(
            "pictures in S3 need PyArrow: python3 scripts/install.py --group cameras --group s3"
        ) from error
    endpoint = next((environ[name] for name in ENDPOINTS if environ.get(name)), "").rstrip("/")
    scheme, _, host = endpoint.rpartition("://")
    region = next((environ[name] for name in REGIONS if environ.get(name)), "")
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=S3_ATTEMPTS)
    options: dict[str, Any] = {"connect_timeout": S3_CONNECT_S, "request_timeout": S3_REQUEST_S}
    options |= {"retry_strategy": retries}
    if host:
        options |= {"endpoint_override": host, "scheme": scheme or "https"}
        region = region or ANY_REGION
    try:
        region = region or _resolve_region(fs, path.partition("/")[0])
        return PictureBucket(fs.S3FileSystem(region=region, **options), path)
    except (OSError, ValueError) as error:
        raise SettingsError(f"store.pictures: {S3}{path}: {error}") from error


def _resolve_region(fs: Any, bucket: str) -> str:
    """Ask AWS for the region of a bucket."""
    region: str = BoundedCalls("AWS", 1, S3_S).run(lambda: fs.resolve_s3_region(bucket))
    return region
