"""Where an archive and its results lie: folders of a disk, of S3-compatible storage, of GCS."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.cli.archive.packages import load
from orchestrator.errors import SettingsError

S3, GCS, DISK = "s3", "gs", ""
"""How their URLs begin."""
AnswerT = TypeVar("AnswerT")
WANTED = "a folder, s3://bucket/folder or gs://bucket/folder"
ENDPOINTS = {
    S3: ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    GCS: ("STORAGE_EMULATOR_HOST",),
}
"""Variables that name a storage of one's own, as the tools of AWS and Google have them."""
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
ANY_REGION = "us-east-1"  # what storage of one's own, MinIO say, expects to be called


@dataclass(frozen=True)
class Place:
    """A folder, on whichever storage; it can be sent to another process, which opens it anew.

    Attributes:
        name: As it was named, without a slash at the end.
        scheme: `s3`, `gs`, or empty for a disk.
        path: On its storage; absolute on a disk, from the bucket on elsewhere.
        endpoint: URL of the storage where it is not AWS's or Google's own.
        region: Of S3; empty where it is to be found out.
    """

    name: str
    scheme: str
    path: str
    endpoint: str = ""
    region: str = ""

    @classmethod
    def named(cls, name: str, environ: Mapping[str, str] = os.environ) -> Place:
        """Return the folder that a command line names.

        Raises:
            SettingsError: It is on no storage that is known, or in no bucket.
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
        """Return the `pyarrow.fs.FileSystem` that it lies on.

        Credentials are found as the tools of AWS and Google find them: in variables, in files of
        the home folder, or of the machine itself.

        Raises:
            ExtraError: PyArrow is not installed.
            SettingsError: The storage cannot be reached, or it is no URL.
        """
        fs = load("pyarrow.fs")
        if self.is_on_disk:
            return fs.LocalFileSystem()
        scheme, _, host = self.endpoint.rpartition("://")
        at = {"endpoint_override": host, "scheme": scheme or "https"} if host else {}
        if self.scheme == GCS:
            return fs.GcsFileSystem(anonymous=bool(host), **at)
        bucket = self.path.partition("/")[0]
        region = self.region or ask(self, lambda: fs.resolve_s3_region(bucket))
        return ask(self, lambda: fs.S3FileSystem(region=region, **at))

    def inside(self, below: str) -> str:
        """Return the path, on its storage, of what lies below it."""
        return f"{self.path.rstrip('/')}/{below}"


def ask(place: Place, question: Callable[[], AnswerT]) -> AnswerT:
    """Return what a storage answers.

    Raises:
        SettingsError: It cannot be reached, or does not allow it.
    """
    try:
        return question()
    except (OSError, ValueError) as error:
        raise SettingsError(f"{place.name}: {error}") from error


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environ[name] for name in names if environ.get(name)), "").rstrip("/")
