"""The command `plates archive` with Ray, on object storage, also after an actor is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import cv2
import pytest
import torch

from orchestrator.cli.archive.recognizers import OwnNetworks
from tests.cli.archive.slow_networks import BROKEN, SlowNetworks
from tests.cli.archive.storage import open_s3, s3_server
from tests.samples import PROJECT, STREET, TEXTS
from tests.waiting import until

pytestmark = pytest.mark.server
SLOW = f"""
from orchestrator.cli.archive import recognizers
from {SlowNetworks.__module__} import SlowNetworks
recognizers.OwnNetworks = SlowNetworks
from orchestrator.cli.app import app
app()
"""
FEW = ("--partition", "1", "--actors", "1", "--in-flight", "1")
COMMAND = [sys.executable, "-c", SLOW, "archive", "s3://cameras/gate", "--out", "s3://tables/gate"]
PICTURES = [f"cameras/gate/{number % 2}/{number}.jpg" for number in range(6)]


@pytest.fixture
def parquet() -> Any:
    """PyArrow's module, imported late: its import takes a second. Skips the test without Ray."""
    pytest.importorskip("ray.data", exc_type=ImportError)
    return pytest.importorskip("pyarrow.parquet", exc_type=ImportError)


@pytest.fixture
def _threads() -> Iterator[None]:
    """Give libraries their numbers of threads back, which networks set."""
    threads = torch.get_num_threads(), cv2.getNumThreads()
    yield
    torch.set_num_threads(threads[0])
    cv2.setNumThreads(threads[1])


@pytest.mark.usefixtures("_threads")
def test_an_actor_s_own_networks_read_plates() -> None:
    with OwnNetworks().open() as networks:
        assert networks.recognize(STREET.read_bytes()).texts == TEXTS


def put(storage: Any, path: str, content: bytes) -> None:
    with storage.open_output_stream(path) as file:
        file.write(content)


def start(environ: Mapping[str, str]) -> "subprocess.Popen[str]":
    environ = {**os.environ, "PYTHONPATH": str(PROJECT), **environ}
    return subprocess.Popen([*COMMAND, *FEW], env=environ, stderr=subprocess.PIPE, text=True)


def test_an_archive_in_object_storage_becomes_a_table_there_though_an_actor_is_killed(
    parquet: Any,
) -> None:
    with s3_server() as environ:
        storage = open_s3(environ)
        for bucket in ("cameras", "tables"):
            storage.create_dir(bucket)
        for path in PICTURES:
            put(storage, path, b"a picture")
        put(storage, "cameras/gate/broken.jpg", BROKEN)
        put(storage, "cameras/gate/notes.txt", b"not one either")

        def read_rows() -> list[dict[str, Any]]:
            table = parquet.read_table("tables/gate", filesystem=storage)
            return list(table.to_pylist())

        def find_actors() -> set[str]:
            """Return the processes of actors, whose ids are the texts of the plates."""
            return {row["text"] for row in read_rows() if row["text"]}

        with start(environ) as run:
            until(lambda: count_parts(storage) > 2, "parts", within_s=120, every_s=0.1)
            (first_actor,) = find_actors()
            os.kill(int(first_actor), signal.SIGKILL)
            _, output = run.communicate()
        rows, actors = read_rows(), find_actors()
        storage.delete_file("cameras/gate/broken.jpg")
        # Nothing is left to do, so Ray, whose start takes seconds, is not started.
        with start(environ) as second_run:
            _, second_output = second_run.communicate()
    messages = output.splitlines()
    assert run.returncode == 1, output
    assert messages[0] == "s3://cameras/gate/broken.jpg: damaged picture"
    assert messages[1] == "skipped 1 file that is not JPEG, PNG, WebP or BMP: 1 .txt"
    assert messages[2].endswith("6 plates found, 6 read, 1 picture failed")
    assert len(messages) == 3
    assert sorted(row["picture"] for row in rows) == sorted(
        f"s3://{path}" for path in (*PICTURES, "cameras/gate/broken.jpg")
    )
    assert len(actors) == 2  # the one that died, and the next
    assert second_run.returncode == 0
    assert "6 pictures were done before" in second_output.splitlines()


def count_parts(storage: Any) -> int:
    """Return how many files of the table are there."""
    from pyarrow.fs import FileSelector

    files = storage.get_file_info(FileSelector("tables/gate", allow_not_found=True))
    return sum(file.base_name.startswith("part-") for file in files)
