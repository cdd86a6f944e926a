"""Runs HAProxy in front of the replicas: its configuration and its runtime API."""

from __future__ import annotations

import csv
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import ServerError
from orchestrator.serving.supervisor.ports import free_ports
from workshop.benchmarks.plan import Address
from workshop.benchmarks.service import wait

SHIPPED = Path(__file__).resolve().parents[3] / "deploy" / "haproxy.cfg"
"""The configuration for operators; only the addresses in it are changed for a measurement."""
HTTP, GRPC, METRICS = "plates_http", "plates_grpc", "metrics"
"""The names of the front ends and back ends of HAProxy."""
PROTOCOLS = {HTTP: "http", GRPC: "grpc"}
TIMEOUT_S = 10.0


def configure(
    shipped: str, replicas: Mapping[str, Address], ports: Mapping[str, int], admin: Path
) -> str:
    """Put addresses into the shipped configuration; every other line stays.

    In each back end, copies of the first server, one for each replica, replace all servers. The
    balancer listens on `ports`, by front end. Its runtime API has the socket `admin`.
    """

    def frontend(found: re.Match[str]) -> str:
        return f"frontend {found[1]}\n    bind 127.0.0.1:{ports[found[1]]}"

    def backend(found: re.Match[str]) -> str:
        line, name, shipped_address = found.groups()
        return "".join(
            line.replace(shipped_address, reached).replace(name, replica)
            for replica, address in replicas.items()
            for reached in [address.grpc if " proto h2" in line else address.http]
        )

    text = re.sub(r"(?<=stats socket )\S+", str(admin), shipped)
    text = re.sub(r"^frontend (\w+)\n +bind \S+", frontend, text, flags=re.MULTILINE)
    servers = r"^( +server (\S+) (\S+).*\n)(?: +server .*\n)*"
    return re.sub(servers, backend, text, flags=re.MULTILINE)


@dataclass(frozen=True)
class Balancer:
    """A running HAProxy, with its ports by front end and its runtime API; see `run_balancer`."""

    pid: int
    ports: Mapping[str, int]
    admin: Path

    @property
    def urls(self) -> Mapping[str, str]:
        """The URLs for a `PlateClient`, by protocol."""
        http, grpc = self.ports[HTTP], self.ports[GRPC]
        return {"http": f"localhost:{http}", "grpc": f"grpc://localhost:{grpc}"}

    def set_state(self, replica: str, state: str) -> None:
        """Set a replica to `ready`, to no new calls (`drain`), or out of service (`maint`).

        Its gRPC side follows, because it tracks the HTTP side.
        """
        self._send_command(f"set server {HTTP}/{replica} state {state}")

    def is_up(self, replica: str) -> bool:
        """Tell whether a replica gets calls, over HTTP and over gRPC."""
        return all(row["status"].startswith("UP") for row in self._rows(replica))

    def is_idle(self, replica: str) -> bool:
        """Tell whether a replica has answered all of its calls."""
        return all(row["scur"] == "0" for row in self._rows(replica))

    def taken(self, replica: str) -> dict[str, int]:
        """Return the number of calls that a replica got so far, by protocol."""
        return {PROTOCOLS[row["# pxname"]]: int(row["stot"]) for row in self._rows(replica)}

    def resent(self, replicas: Iterable[str]) -> int:
        """Return the number of calls that HAProxy itself retried so far, after a try with these."""
        return sum(int(row["wretr"]) for name in replicas for row in self._rows(name))

    def _rows(self, replica: str) -> list[dict[str, str]]:
        table = csv.DictReader(self._send_command("show stat").splitlines())
        return [row for row in table if row["svname"] == replica]

    def _send_command(self, command: str) -> str:
        """Send one command to the runtime API."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(TIMEOUT_S)
                connection.connect(str(self.admin))
                connection.sendall(f"{command}\n".encode())
                answer = connection.makefile(encoding="utf-8").read()
        except OSError as error:
            raise ServerError(f"haproxy: wanted an answer to {command!r}, got {error}") from error
        if command.startswith("set ") and answer.strip():
            raise ServerError(f"haproxy: wanted to do {command!r}, got {answer.strip()}")
        return answer


@contextmanager
def run_balancer(replicas: Mapping[str, Address]) -> Iterator[Balancer]:
    """Run HAProxy in front of replicas' gateways for the length of a `with` block."""
    with tempfile.TemporaryDirectory(prefix="plates-haproxy-") as name:
        folder = Path(name)
        admin, log = folder / "admin.sock", folder / "log"
        ports = dict(zip((HTTP, GRPC, METRICS), free_ports(3), strict=True))
        file = folder / "haproxy.cfg"
        file.write_text(configure(SHIPPED.read_text(), replicas, ports, admin))
        with log.open("wb") as said:
            process = subprocess.Popen(
                [find_program(), "-db", "-f", file], stdout=said, stderr=said
            )
        try:
            wait(admin.exists, "haproxy to listen", TIMEOUT_S, process=process, log=log)
            yield Balancer(process.pid, ports, admin)
        finally:
            process.terminate()
            process.wait()


def find_program() -> str:
    """Return the path of HAProxy; Debian installs it outside the PATH of ordinary users."""
    found = shutil.which("haproxy", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
    if found is None:
        raise ServerError("haproxy: wanted the program, got none; install the package haproxy")
    return found
