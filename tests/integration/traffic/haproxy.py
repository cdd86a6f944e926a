"""HAProxy with the shipped configuration, in front of services on this machine."""

from __future__ import annotations

import csv
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.serving.supervisor.ports import free_ports
from tests.samples import PROJECT
from tests.waiting import until
from workshop.benchmarks.bench.plan import Address

SHIPPED = PROJECT / "deploy" / "haproxy.cfg"
HTTP, GRPC, METRICS = "plates_http", "plates_grpc", "metrics"
"""The names of its front ends and back ends."""
PROTOCOLS = {HTTP: "http", GRPC: "grpc"}
PROGRAM = shutil.which("haproxy", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))


def configure(replicas: Mapping[str, Address], ports: Mapping[str, int], admin: Path) -> str:
    """Put addresses into the shipped configuration; every other line stays.

    In each back end, all servers are replaced by copies of the first, one for each replica.
    """

    def frontend(match: re.Match[str]) -> str:
        return f"frontend {match[1]}\n    bind 127.0.0.1:{ports[match[1]]}"

    def backend(match: re.Match[str]) -> str:
        line, name, shipped_address = match.groups()
        return "".join(
            line.replace(
                shipped_address, address.grpc if " proto h2" in line else address.http
            ).replace(name, replica)
            for replica, address in replicas.items()
        )

    text = re.sub(r"(?<=stats socket )\S+", str(admin), SHIPPED.read_text())
    text = re.sub(r"^frontend (\w+)\n +bind \S+", frontend, text, flags=re.MULTILINE)
    servers = r"^( +server (\S+) (\S+).*\n)(?: +server .*\n)*"
    return re.sub(servers, backend, text, flags=re.MULTILINE)


@dataclass(frozen=True)
class Balancer:
    """A running HAProxy, with its ports by front end and the socket of its runtime API."""

    ports: Mapping[str, int]
    admin: Path

    @property
    def urls(self) -> dict[str, str]:
        """The URLs for a `PlateClient`, by protocol."""
        http, grpc = self.ports[HTTP], self.ports[GRPC]
        return {"http": f"localhost:{http}", "grpc": f"grpc://localhost:{grpc}"}

    def is_up(self, replica: str) -> bool:
        """Tell whether HAProxy sends calls to a replica, over HTTP and over gRPC."""
        return all(row["status"].startswith("UP") for row in self._rows(replica))

    def count_calls(self, replica: str) -> dict[str, int]:
        """Return the number of calls that a replica got so far, by protocol."""
        return {PROTOCOLS[row["# pxname"]]: int(row["stot"]) for row in self._rows(replica)}

    def count_resent(self, replica: str) -> int:
        """Return the number of calls that failed at a replica and were sent again."""
        return sum(int(row["wretr"]) for row in self._rows(replica))

    def _rows(self, replica: str) -> list[dict[str, str]]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(str(self.admin))
            connection.sendall(b"show stat\n")
            table = csv.DictReader(connection.makefile(encoding="utf-8").read().splitlines())
        return [row for row in table if row["svname"] == replica]


@contextmanager
def run_balancer(replicas: Mapping[str, Address], folder: Path) -> Iterator[Balancer]:
    """Run HAProxy for the length of a `with` block."""
    assert PROGRAM
    ports = dict(zip((HTTP, GRPC, METRICS), free_ports(3), strict=True))
    file, admin = folder / "haproxy.cfg", folder / "admin.sock"
    file.write_text(configure(replicas, ports, admin))
    process = subprocess.Popen([PROGRAM, "-db", "-f", file])
    try:
        until(admin.exists, "haproxy to listen", within_s=10)
        yield Balancer(ports, admin)
    finally:
        process.terminate()
        process.wait()
