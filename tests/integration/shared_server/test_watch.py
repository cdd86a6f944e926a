"""`plates watch` and `plates recognize` over clips, with a real server, database and sink."""

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.serving.supervisor.triton_server import Server
from tests.plate_cameras.clips import encode
from tests.waiting import until
from workshop.rendering.scenery import Scene, scene

PLATES = str(Path(sys.executable).with_name("plates"))


@pytest.fixture(scope="module")
def street() -> Scene:
    return scene(["A123BC77", "M456OP199"], (640, 480), seed=2)


@pytest.fixture(scope="module")
def clip(street: Scene, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of three seconds: two parked cars, with the noise of a camera."""
    rng = np.random.default_rng(5)
    shape = street.picture.shape
    noisy = [
        (street.picture + rng.normal(0, 2, shape)).clip(0, 255).astype(np.uint8) for _ in range(5)
    ]
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    path.write_bytes(encode(noisy * 15))
    return path


def run(*arguments: str, url: str) -> "subprocess.CompletedProcess[str]":
    command = [PLATES, *arguments, "--url", url]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read_events(text: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, text.splitlines())


def test_each_vehicle_of_a_clip_is_one_pass_and_is_kept(
    server: Server, street: Scene, clip: Path, tmp_path: Path
) -> None:
    out = tmp_path / "kept"
    arguments = ("watch", "--once", str(clip), "--json", "--out", str(out))
    child = run(*arguments, url=server.options.http_url)
    assert (child.returncode, child.stderr) == (0, "2 passes\n")
    events = [event for event in read_events(child.stdout) if event["type"] == "pass.closed"]
    assert sorted(event["data"]["text"] for event in events) == sorted(street.texts)
    assert all(event["data"]["frames"] > 10 for event in events)
    with sqlite3.connect(out / "passes.db") as database:
        rows = database.execute("SELECT text FROM passes ORDER BY text").fetchall()
    database.close()
    assert [text for (text,) in rows] == sorted(street.texts)
    pictures = [file.read_bytes() for file in (out / "pictures").rglob("*") if file.is_file()]
    assert len(pictures) >= 3  # two crops, and their frames
    assert all(picture.startswith(b"\xff\xd8") for picture in pictures)


def test_recognize_gives_the_same_passes(server: Server, street: Scene, clip: Path) -> None:
    child = run("recognize", str(clip), url=server.options.http_url)
    assert (child.returncode, child.stderr) == (0, "2 passes\n")
    texts = sorted(line.split()[1] for line in child.stdout.splitlines()[1:])
    assert texts == sorted(street.texts)
    refusal = run("recognize", str(clip), "--csv", "out.csv", url=server.options.http_url)
    assert refusal.returncode == 2
    assert refusal.stderr == "plates: --csv: wanted with pictures, got clips\n"


def test_a_file_of_cameras_is_followed_while_it_changes(
    server: Server, street: Scene, clip: Path, tmp_path: Path
) -> None:
    file, sink = tmp_path / "CAMERAS.toml", tmp_path / "passes.jsonl"
    head = f'service = "{server.options.http_url}"\n'
    head += f'[[sinks]]\nname = "log"\ntype = "jsonl"\nurl = "{sink}"\nevents = ["closed"]\n'
    first = f'[[cameras]]\nname = "first"\nurl = "{clip}"\nlooks_per_s = 5\n'
    file.write_text(head + first)
    log = tmp_path / "log"
    command = [PLATES, "watch", str(file)]
    with log.open("w") as errors, subprocess.Popen(command, stderr=errors) as process:
        try:
            until(lambda: _cameras_in(sink) == ["first"] * 2, "events of the first camera")
            file.write_text(head + first + first.replace("first", "second"))
            cameras = ["first"] * 2 + ["second"] * 2
            until(lambda: _cameras_in(sink) == cameras, "events of the second camera")
            file.write_text(head)
            until(lambda: "not reloaded: " in log.read_text(), "an error")
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    texts = [event["data"]["text"] for event in read_events(sink.read_text())]
    assert sorted(texts) == sorted([*street.texts] * 2)


def test_an_event_names_the_list_entries_that_its_plate_matches(
    server: Server, clip: Path, tmp_path: Path
) -> None:
    file, sink = tmp_path / "CAMERAS.toml", tmp_path / "passes.jsonl"
    file.write_text(
        f'service = "{server.options.http_url}"\n'
        f'[[sinks]]\nname = "log"\ntype = "jsonl"\nurl = "{sink}"\nevents = ["closed"]\n'
        f'[[cameras]]\nname = "gate"\nurl = "{clip}"\nlooks_per_s = 5\nlists = ["residents"]\n'
    )
    entries = tmp_path / "residents.csv"
    entries.write_text("text,note,edits\nA123BC77,flat 7,0\nM456OP198,flat 8,1\n")
    command = [PLATES, "passes", "import-list", str(file), "residents", str(entries)]
    subprocess.run(command, check=True, capture_output=True)
    with subprocess.Popen([PLATES, "watch", str(file)], stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: _cameras_in(sink) == ["gate"] * 2, "events of both vehicles")
        finally:
            process.send_signal(signal.SIGTERM)
    hits = {
        event["data"]["text"]: event["data"]["lists"] for event in read_events(sink.read_text())
    }
    assert hits == {
        "A123BC77": [{"list": "residents", "text": "A123BC77", "note": "flat 7", "edits": 0}],
        "M456OP199": [{"list": "residents", "text": "M456OP198", "note": "flat 8", "edits": 1}],
    }


def _cameras_in(sink: Path) -> list[str]:
    text = sink.read_text() if sink.exists() else ""
    return sorted(event["data"]["camera"] for event in read_events(text))
