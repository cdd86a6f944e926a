"""Commands of README.md and of docs/first-camera.md, as a person types them in a new folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from orchestrator.serving.supervisor.ports import free_ports
from tests.docs.blocks import blocks_of, command_lines
from tests.plate_cameras.clips import encode
from tests.samples import PROJECT
from tests.waiting import until
from workshop.rendering.scenery import scene

PAGES = {"README.md": "make cameras", "docs/first-camera.md": "make cameras"}
ENVIRONMENT = Path(sys.executable).parents[1]
PORTS = ("--http-port", "--grpc-port", "--metrics-port")


def commands_of(page: str) -> list[list[str]]:
    """Return the lines of a page's shell blocks as words."""
    shells = (block for block in blocks_of(PROJECT / page) if block.language == "sh")
    lines = (line for block in shells for line in command_lines(block.text))
    return [line.partition(" #")[0].split() for line in lines]


def find(page: str, *words: str) -> list[str]:
    """Return the first command of a page that has some words."""
    return next(command for command in commands_of(page) if {*words} <= {*command})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the environment of the checkout, and the clip and file of the page."""
    (tmp_path / ".venv").symlink_to(ENVIRONMENT)
    picture = scene(["A123BC77"], (640, 480), seed=2).picture
    (tmp_path / "clip.mp4").write_bytes(encode([picture] * 45))
    return tmp_path


def write_cameras(folder: Path, page: str, http: int) -> None:
    """Write the page's file of cameras, with a clip in place of the camera."""
    text = next(block for block in blocks_of(PROJECT / page) if block.language == "toml").text
    text = re.sub(r"rtsp://[^\"]+", str(folder / "clip.mp4"), text)
    (folder / "CAMERAS.toml").write_text(text.replace(":8000", f":{http}"))


@pytest.fixture(params=PAGES)
def running_service(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[str, str]]:
    """The page, and the address of a service that its command has started."""
    ports = free_ports(3)
    write_cameras(folder, request.param, ports[0])
    command = find(request.param, "serve", "--cameras")
    flags = [f"{name}={port}" for name, port in zip(PORTS, ports, strict=True)]
    flags += ["--one-model", "--pictures=1"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [*command, *flags], cwd=folder, stdout=log, stderr=log, env=environment
        ) as process,
    ):
        address = f"localhost:{ports[0]}"
        try:
            until(lambda: is_ready(address) or process.poll() is not None, "the service", 120)
            assert process.poll() is None, (folder / "log").read_text()
            yield request.param, address
        finally:
            process.terminate()


def read(address: str, path: str) -> bytes:
    with urlopen(f"http://{address}/{path}", timeout=30) as response:
        return bytes(response.read())


def is_ready(address: str) -> bool:
    try:
        return bool(read(address, "readyz"))
    except OSError:
        return False


@pytest.mark.parametrize(("page", "command"), PAGES.items())
def test_one_command_brings_the_cameras(page: str, command: str) -> None:
    assert find(page, *command.split()) == command.split()
    child = subprocess.run(
        [*command.split(), "--dry-run", "--always-make"],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "--group cameras" in child.stdout


@pytest.mark.server
def test_a_vehicle_is_on_the_page(running_service: tuple[str, str], folder: Path) -> None:
    page, address = running_service
    watch = [
        word.replace("localhost:8000", address) for word in find(page, "watch", "CAMERAS.toml")
    ]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    child = subprocess.run(
        [*watch, "--once"], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    assert child.returncode == 0, child.stderr
    assert "A123BC77" in child.stdout
    assert read(address, "live")
    (vehicle_pass,) = json.loads(read(address, "v1/passes"))["passes"]
    assert vehicle_pass["text"] == "A123BC77"
