"""A service that is killed, and its successor, which is started at once."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator import PlateClient
from orchestrator.contract import SHM
from orchestrator.serving.supervisor.local_server import prepare
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import free_ports
from orchestrator.serving.supervisor.server_folder import Regions
from tests.integration.doubling import write_doubling
from tests.integration.serving import find_running
from tests.samples import PLATES, STREET
from tests.waiting import until
from workshop.benchmarks.processes import find_tree

NAMES = ("http-port", "grpc-port", "metrics-port")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    """Return the folder for temporary files of two successive services."""
    prepare(ServerOptions())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@contextmanager
def serve(ports: list[int], *flags: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run `plates serve` on given ports for a `with` block, which may kill it."""
    places = [f"--{name}={port}" for name, port in zip(NAMES, ports, strict=True)]
    with subprocess.Popen(
        [PLATES, "serve", "--pictures=1", *places, *flags],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        lines = iter(process.stdout.readline, "")
        assert "ready\n" in lines, process.stderr.read()
        yield process
        process.terminate()
        process.wait(60)  # not until its pipes are closed: orphans of a killed one may hold them


def kill_all(process: subprocess.Popen[str]) -> None:
    """Kill all processes at once, as the kernel does when a container has no memory left."""
    for pid in find_tree(process.pid):
        os.kill(pid, signal.SIGKILL)


def test_a_killed_service_is_not_in_the_way_of_the_next(folder: Path) -> None:
    ports = free_ports(3)
    write_doubling(folder / "small", "double", "TYPE_FP32")
    small = ("--model-repository", folder / "small", "--model=double")
    neighbour = Regions.make()
    with serve(ports, *small) as first:
        families = [find_tree(first.pid)]
        first.kill()
        first.wait()
        with serve(ports, *small) as second:
            until(lambda: not find_running(families[0]), "the first one's processes away")
            assert not list(SHM.glob(f"plates_{first.pid}_*"))
            families.append(find_tree(second.pid))
            kill_all(second)
            second.wait()
            with serve(ports, "--one-model") as third:
                assert not list(SHM.glob(f"plates_{second.pid}_*"))
                with PlateClient(f"localhost:{ports[0]}") as client:
                    assert client.recognize(STREET).texts[0] == "TO05577"
                assert list(SHM.glob(f"{neighbour.prefix}*"))
            assert third.returncode == 0
    assert not find_running(families[1])
    assert list(folder.glob("plates-*")) == []
    neighbour.remove()
