"""`plates serve` as an operator runs it: it says where it is, heals itself, and leaves no trace."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.processes import find_tree, find_workers
from orchestrator import PlateClient
from orchestrator.errors import PlateError
from orchestrator.server.local import prepare
from orchestrator.server.options import ServerOptions
from orchestrator.server.ports import free_ports
from tests.integration.conftest import GREY
from tests.samples import PLATES
from tests.waiting import until


def remaining(pids: set[int]) -> set[int]:
    """Those of the processes that have not ended; who has and was not waited for has."""
    running = set()
    for pid in pids:
        with suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_text()
            running |= {pid} if stat.rpartition(")")[2].split()[0] != "Z" else set()
    return running


def wait_for_answer(url: str, timeout_s: float) -> None:
    """Return when a request is answered."""
    begin = time.monotonic()
    while time.monotonic() - begin < timeout_s:
        try:
            with PlateClient(url, timeout_s=5) as client:
                client.recognize(GREY)
            return
        except PlateError:
            time.sleep(0.3)
    pytest.fail(f"no answer within {timeout_s:.0f} s")


@pytest.fixture
def serving() -> Iterator[tuple[subprocess.Popen, str, str]]:
    prepare(ServerOptions())
    http, grpc, metrics = free_ports(3)
    flags = [f"--http-port={http}", f"--grpc-port={grpc}", f"--metrics-port={metrics}"]
    flags.append("--no-gateway")
    process = subprocess.Popen(
        [PLATES, "serve", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Ctrl-C"):
            break
    yield process, f"localhost:{http}", "".join(lines)
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_serve_heals_and_leaves_no_trace(serving) -> None:
    process, url, printed = serving
    regions = f"plates_{process.pid}_*"
    assert list(Path("/dev/shm").glob(regions))
    assert f"HTTP     {url}" in printed
    wait_for_answer(url, 60)

    victims = find_workers(process.pid, "lprnet")
    os.kill(victims[0], signal.SIGKILL)
    until(lambda: victims[0] not in find_tree(process.pid), "the old server away")
    wait_for_answer(url, 60)
    family = find_tree(process.pid) - {process.pid}
    assert find_workers(process.pid, "lprnet")

    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    until(lambda: not remaining(family), "its processes away")
    assert not list(Path("/dev/shm").glob(regions))


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_no_server_outlives_serve(serving, sent: signal.Signals) -> None:
    process, url, _ = serving
    wait_for_answer(url, 60)
    family = find_tree(process.pid) - {process.pid}
    process.send_signal(sent)
    process.wait(60)
    until(lambda: not remaining(family), "its processes away")


def test_a_port_in_use_is_one_sentence(server) -> None:
    port = server.options.http_port
    done = subprocess.run(
        [PLATES, "serve", f"--http-port={port}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert re.fullmatch(
        rf"plates: http_port: wanted a free port, got {port} .*--http-port\n",
        done.stderr,
    )
