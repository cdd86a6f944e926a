"""A Docker engine only for this check, and containers in it.

It needs neither bridge nor firewall: containers use the machine's network. If the machine has an
engine of its own, that is not touched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.image import IMAGE, WORK, CheckError, buildah

PROGRAMS = ("dockerd", "docker")
ROOT = WORK / "docker"
SOCKET = f"unix://{ROOT}/docker.sock"
NAME = "plates:1.0.0-cpu"
"""Name of the image, as in docs/docker.md and compose.yaml."""
START_S, END_S = 60, 60


def find_obstacle() -> str:
    """Say why no engine can be started here; return an empty text if one can."""
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        return f"wanted {' and '.join(PROGRAMS)} on the PATH, got no {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "wanted root, got an ordinary user"


@contextmanager
def run_engine() -> Iterator[None]:
    """Run an engine for the length of a `with` block, and end it with all its containers.

    Raises:
        CheckError: The engine does not start.
    """
    ROOT.mkdir(parents=True, exist_ok=True)
    log = ROOT / "dockerd.log"
    driver = os.environ.get("STORAGE_DRIVER")
    command = [
        "dockerd",
        "--iptables=false",
        "--ip6tables=false",
        "--bridge=none",
        f"--data-root={ROOT}/data",
        f"--exec-root={ROOT}/exec",
        f"--pidfile={ROOT}/pid",
        f"--host={SOCKET}",
        *((f"--storage-driver={driver}",) if driver else ()),
    ]
    with log.open("w") as log_file:
        engine = subprocess.Popen(command, stdout=log_file, stderr=log_file)
    try:
        deadline = time.monotonic() + START_S
        while call("version").returncode:
            if engine.poll() is not None or time.monotonic() > deadline:
                raise CheckError(f"wanted dockerd to start, see {log}")
            time.sleep(0.2)
        remove_containers()  # containers of an interrupted check
        yield
    finally:
        call("kill", *call("ps", "--quiet").stdout.split())  # they would outlive the engine
        engine.terminate()
        engine.wait(END_S)


def call(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the docker command against that engine."""
    command = ["docker", f"--host={SOCKET}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def docker(*arguments: object) -> str:
    """Run the docker command; return its output.

    Raises:
        CheckError: The command fails.
    """
    result = call(*arguments)
    if result.returncode:
        raise CheckError(f"wanted docker {arguments[0]} to succeed, got: {result.stderr.strip()}")
    return result.stdout.strip()


def load() -> None:
    """Load the built image into the engine."""
    archive = ROOT / "image.tar"
    archive.unlink(missing_ok=True)
    buildah("push", "--quiet", IMAGE, f"docker-archive:{archive}:{NAME}")
    docker("load", "--quiet", "--input", archive)
    archive.unlink()
    docker("image", "prune", "--force")  # removes the image of an earlier check


def remove_containers() -> None:
    if containers := docker("ps", "--all", "--quiet"):
        docker("rm", "--force", *containers.split())


def start(name: str, options: tuple[str, ...], arguments: tuple[str, ...]) -> Container:
    """Start a container of the image, with the machine's network.

    Args:
        name: Its name in the engine.
        options: Options of `docker run`.
        arguments: Arguments of `plates serve`.
    """
    docker("run", "--detach", "--network=host", f"--name={name}", *options, NAME, *arguments)
    return Container(name)


@dataclass(frozen=True)
class Container:
    """A container of that engine, by its name."""

    name: str

    @property
    def state(self) -> dict[str, Any]:
        """The engine's record of its state: Running, ExitCode, OOMKilled, Pid, ..."""
        return dict(json.loads(docker("inspect", "--format", "{{json .State}}", self.name)))

    def logs(self) -> str:
        result = call("logs", self.name)
        return result.stdout + result.stderr

    def execute(self, *command: object) -> subprocess.CompletedProcess[str]:
        """Run a command inside the container."""
        return call("exec", self.name, *command)

    def wait_until_healthy(self, check: list[str], timeout_s: float) -> float:
        """Return the seconds until the health check succeeded.

        Raises:
            CheckError: The container ended, or is not healthy in time.
        """
        start_s = time.monotonic()
        while self.execute(*check).returncode:
            if not self.state["Running"] or time.monotonic() - start_s > timeout_s:
                raise CheckError(f"wanted {self.name} to be healthy, got:\n{self.logs()}")
            time.sleep(0.2)
        return time.monotonic() - start_s

    def restart(self) -> None:
        """Kill the container, and start the same one again."""
        docker("kill", self.name)
        docker("start", self.name)

    def stop(self) -> tuple[float, int]:
        """Stop the container; return the seconds that this took, and the exit status."""
        start_s = time.monotonic()
        docker("stop", self.name)
        return time.monotonic() - start_s, int(self.state["ExitCode"])

    def wait(self) -> int:
        """Return the exit status of a container that ends by itself."""
        return int(docker("wait", self.name))

    def peak_bytes(self) -> int:
        """Return the most memory that it used; 0 if the kernel does not tell."""
        return self._read("memory", "memory.max_usage_in_bytes", "memory.peak")

    def threads(self) -> int:
        """Return the number of its processes and threads; 0 if the kernel does not tell."""
        return self._read("pids", "pids.current", "pids.current")

    def _read(self, controller: str, first: str, second: str) -> int:
        lines = Path(f"/proc/{self.state['Pid']}/cgroup").read_text().splitlines()
        groups = {names: path for _, names, path in (line.split(":", 2) for line in lines)}
        for names, file in ((controller, first), ("", second)):
            with suppress(OSError, KeyError):
                return int(Path(f"/sys/fs/cgroup/{names}{groups[names]}/{file}").read_text())
        return 0
