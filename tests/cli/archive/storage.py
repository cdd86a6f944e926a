"""Moto's S3 server in this process, and clients for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_REGION": "us-east-1",
}


@contextmanager
def s3_server() -> Iterator[Mapping[str, str]]:
    """Run an S3 server for a `with` block; yield the environment variables of its clients."""
    server = pytest.importorskip("moto.server", exc_type=ImportError).ThreadedMotoServer(
        "127.0.0.1", port=0, verbose=False
    )
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield {**ACCOUNT, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}
    finally:
        server.stop()


def open_s3(environ: Mapping[str, str]) -> Any:
    """Return PyArrow's file system of the storage, which may create buckets."""
    fs = pytest.importorskip("pyarrow.fs", exc_type=ImportError)
    return fs.S3FileSystem(
        access_key=environ["AWS_ACCESS_KEY_ID"],
        secret_key=environ["AWS_SECRET_ACCESS_KEY"],
        region=environ["AWS_REGION"],
        endpoint_override=environ["AWS_ENDPOINT_URL"].removeprefix("http://"),
        scheme="http",
        allow_bucket_creation=True,
    )
