"""The command `plates archive` with Ray, on object storage, also after an actor is killed."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import pytest

from tests.cli.archive.slow_networks import SlowNetworks
from tests.cli.archive.storage import open_s3, s3_server
from tests.samples import PLATES, PROJECT
from tests.waiting import until
from workshop.rendering.scenery import scene

pytestmark = pytest.mark.server
TEXTS = ("A123BC77", "M456OP199")
SLOW = f"""
import orchestrator.cli.archive.recognizers as asking
from {SlowNetworks.__module__} import SlowNetworks
asking.OwnNetworks = SlowNetworks
from orchestrator.cli.app import app
app()
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT)}
PICTURES = 6
FEW = ("--partition", "1", "--actors", "1", "--in-flight", "1")


@pytest.fixture
def parquet() -> Any:
    """PyArrow's module, imported late: its import takes a second. Skips the test without Ray."""
    pytest.importorskip("ray.data", exc_type=ImportError)
    return pytest.importorskip("pyarrow.parquet", exc_type=ImportError)


def picture_of(text: str) -> bytes:
    return cv2.imencode(".jpg", scene([text], (640, 480), seed=2).picture)[1].tobytes()


def put(storage: Any, path: str, content: bytes) -> None:
    with storage.open_output_stream(path) as file:
        file.write(content)


def run_on_s3(environ: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [PLATES, "archive", "s3://cameras/gate", "--out", "s3://tables/gate", *FEW],
        env={**ENVIRONMENT, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_archive_in_object_storage_becomes_a_table_there(parquet: Any) -> None:
    with s3_server() as environ:
        storage = open_s3(environ)
        storage.create_dir("cameras")
        storage.create_dir("tables")
        for number, text in enumerate(TEXTS):
            put(storage, f"cameras/gate/{number % 2}/{number}.jpg", picture_of(text))
        put(storage, "cameras/gate/broken.jpg", b"no picture")
        put(storage, "cameras/gate/notes.txt", b"not one either")
        done = run_on_s3(environ)
        storage.delete_file("cameras/gate/broken.jpg")
        again = run_on_s3(environ)  # nothing is left to do: Ray, which takes seconds, stays away
        table = parquet.read_table("tables/gate", filesystem=storage).to_pylist()
    assert (done.returncode, done.stdout) == (1, "")
    messages = done.stderr.splitlines()
    assert messages[0].startswith("s3://cameras/gate/broken.jpg: ")
    assert messages[1] == "skipped 1 file that is not JPEG, PNG, WebP or BMP: 1 .txt"
    assert messages[2].endswith("2 plates found, 2 read, 1 picture failed")
    assert len(messages) == 3
    assert again.returncode == 0
    assert "2 pictures were done before" in again.stderr.splitlines()
    wanted = {f"s3://cameras/gate/{n % 2}/{n}.jpg": text for n, text in enumerate(TEXTS)}
    assert {row["picture"]: row["text"] for row in table if not row["error"]} == wanted
    assert len(table) == len(TEXTS) + 1


def test_an_actor_that_is_killed_loses_nothing_and_doubles_nothing(
    tmp_path: Path, parquet: Any
) -> None:
    archive, out = tmp_path / "archive", tmp_path / "out"
    archive.mkdir()
    for number in range(PICTURES):
        (archive / f"{number:02}.jpg").write_bytes(b"a picture")
    command = [sys.executable, "-c", SLOW, "archive", str(archive), "--out", str(out)]
    with subprocess.Popen(
        [*command, *FEW], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    ) as run:
        until(lambda: len([*out.glob("part-*")]) > 2, "parts", within_s=120)
        (first,) = {row["text"] for row in parquet.read_table(out).to_pylist()}
        os.kill(int(first), signal.SIGKILL)
        _, messages = run.communicate()
    rows = parquet.read_table(out).to_pylist()
    assert (run.returncode, len(messages.splitlines())) == (0, 1), messages
    assert Counter(row["picture"] for row in rows) == Counter(map(str, archive.iterdir()))
    assert len({row["text"] for row in rows}) == 2  # the actor that died, and the next
