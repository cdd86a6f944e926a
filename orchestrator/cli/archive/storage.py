"""Folders of an archive and its results: on a disk, S3-compatible storage or GCS.

The packages that they need are loaded when they are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.errors import ExtraError, SettingsError

S3, GCS, DISK = "s3", "gs", ""
"""Schemes of the storages' URLs."""
AnswerT = TypeVar("AnswerT")
WANTED = "a folder, s3://bucket/folder or gs://bucket/folder"
ENDPOINTS = {
    S3: ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    GCS: ("STORAGE_EMULATOR_HOST",),
}
"""Variables for the URL of a private storage, with the names that AWS and Google use."""
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
ANY_REGION = "us-east-1"  # the region that a private storage, such as MinIO, expects
BRINGS = "pip install -e '.[archive]'"


def load(name: str) -> Any:
    """Import a module of Ray or PyArrow, for example `pyarrow.fs`.

    Raises:
        ExtraError: Its package is missing, or does not fit the other packages.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ExtraError(
            f"archive: wanted the package {package}, got: {error}; {BRINGS} in the checkout "
            "brings it"
        ) from error


def check_packages() -> None:
    """Check that the packages for an archive are installed, before any work starts.

    This does not import Ray yet: Ray reads its settings at import.

    Raises:
        ExtraError: A package is missing.
    """
    load("pyarrow.fs")
    if find_spec("ray") is None:
        raise ExtraError(
            f"archive: wanted the package ray, got none; {BRINGS} in the checkout brings it"
        )


@dataclass(frozen=True)
class StorageFolder:
    """A folder on any storage; another process can receive it and open it again.

    Attributes:
        name: Its name on the command line, without a slash at the end.
        scheme: `s3`, `gs`, or empty for a disk.
        path: Its path on the storage: absolute on a disk, else beginning with the bucket.
        endpoint: URL of the storage, if it is not AWS's or Google's own.
        region: Region of S3; empty if it must be found out.
    """

    name: str
    scheme: str
    path: str
    endpoint: str = ""
    region: str = ""

    @classmethod
    def parse(cls, name: str, environ: Mapping[str, str] = os.environ) -> StorageFolder:
        """Return the folder for a name on the command line.

        Raises:
            SettingsError: The storage is unknown, or the bucket is missing.
        """
        scheme, sign, path = name.partition("://")
        if not sign:
            return cls(name.rstrip("/") or "/", DISK, str(Path(name).absolute()))
        if scheme not in ENDPOINTS or not path.strip("/"):
            raise SettingsError(f"archive: wanted {WANTED}, got {name}")
        endpoint = _first(environ, ENDPOINTS[scheme])
        region = _first(environ, REGIONS) or (ANY_REGION if endpoint else "")
        path = path.strip("/")
        return cls(f"{scheme}://{path}", scheme, path, endpoint, region if scheme == S3 else "")

    @property
    def is_on_disk(self) -> bool:
        return self.scheme == DISK

    def open(self) -> Any:
        """Return the `pyarrow.fs.FileSystem` of the folder.

        Credentials come from the same places as for the tools of AWS and Google. These are
        variables, files in the home folder, or the machine itself.

        Raises:
            ExtraError: PyArrow is not installed.
            SettingsError: The storage cannot be reached, or its URL is invalid.
        """
        fs = load("pyarrow.fs")
        if self.is_on_disk:
            return fs.LocalFileSystem()
        scheme, _, host = self.endpoint.rpartition("://")
        endpoint = {"endpoint_override": host, "scheme": scheme or "https"} if host else {}
        if self.scheme == GCS:
            return fs.GcsFileSystem(anonymous=bool(host), **endpoint)
        bucket = self.path.partition("/")[0]
        region = self.region or call_storage(self, lambda: fs.resolve_s3_region(bucket))
        return call_storage(self, lambda: fs.S3FileSystem(region=region, **endpoint))

    def inside(self, below: str) -> str:
        """Return the path on the storage of a file below this folder."""
        return f"{self.path.rstrip('/')}/{below}"


def call_storage(folder: StorageFolder, call: Callable[[], AnswerT]) -> AnswerT:
    """Return the answer of a storage.

    Raises:
        SettingsError: The storage cannot be reached, or does not allow the question.
    """
    try:
        return call()
    except (OSError, ValueError) as error:
        raise SettingsError(f"{folder.name}: {error}") from error


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environ[name] for name in names if environ.get(name)), "").rstrip("/")
