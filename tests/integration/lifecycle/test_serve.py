"""`plates serve` as an operator runs it: its messages, its recovery, and its clean end."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator import PlateClient
from orchestrator.cli.startup import READY, SOCKET
from orchestrator.errors import PlateError
from orchestrator.serving.supervisor.local_server import prepare
from orchestrator.serving.supervisor.options import ServerOptions
from tests.integration.conftest import GREY
from tests.integration.load import Load
from tests.integration.serving import Serving, remaining, serve
from tests.samples import PLATES
from tests.waiting import until
from workshop.benchmarks.processes import find_tree


def wait_for_answer(url: str, timeout_s: float) -> None:
    """Wait until a request is answered."""
    begin = time.monotonic()
    while time.monotonic() - begin < timeout_s:
        try:
            with PlateClient(url, timeout_s=5) as client:
                client.recognize(GREY)
            return
        except PlateError:
            time.sleep(0.3)
    pytest.fail(f"no answer within {timeout_s:.0f} s")


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service for the tests that do not end it. Killed at the end, it leaves no processes behind.

    It has its own folder for temporary files. Otherwise the next service would report its remains,
    and other tests check each line of the output.
    """
    prepare(ServerOptions())
    own = tmp_path_factory.mktemp("killed")
    with serve("--pictures=2", env={**os.environ, "TMPDIR": str(own)}) as served:
        yield served
        family = find_tree(served.process.pid)
        served.process.kill()
        served.process.wait()
        until(lambda: not remaining(family), "its processes away")


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch) -> Iterator[socket.socket]:
    """A socket that stands in for systemd's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as notified:
        notified.bind(str(tmp_path / "notify"))
        monkeypatch.setenv(SOCKET, str(tmp_path / "notify"))
        yield notified


def test_serve_says_where_it_is_replaces_a_dead_gateway_and_leaves_no_trace(systemd) -> None:
    prepare(ServerOptions())
    with serve("--gateway-processes=2") as serving:
        assert systemd.recv(100) == READY
        regions = f"plates_{serving.process.pid}_*"
        assert list(Path("/dev/shm").glob(regions))
        assert f"  KServe   {serving.url}\n" in serving.printed
        wait_for_answer(serving.url, 60)
        workers, gateways = serving.workers(), serving.gateways()
        assert workers
        assert len(gateways) == 2

        dead, survivor = gateways
        os.kill(dead, signal.SIGKILL)
        until(lambda: len(serving.gateways() - {dead}) == 2, "a new gateway")
        wait_for_answer(serving.url, 60)
        assert survivor in serving.gateways()
        assert serving.workers() == workers

        serving.process.send_signal(signal.SIGINT)
        assert serving.process.wait(60) == 0
    assert not list(Path("/dev/shm").glob(regions))


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        pytest.param("lprnet", signal.SIGKILL, id="one of two is killed"),
        pytest.param("stn", signal.SIGSTOP, id="the only one is stopped"),
        pytest.param("plate_recognition", signal.SIGSEGV, id="one crashes"),
    ],
)
def test_a_lost_worker_is_replaced_alone_and_no_caller_notices(
    lasting: Serving, model: str, sent: signal.Signals
) -> None:
    others = [lasting.workers(other) for other in {"yolo", "lprnet", "stn"} - {model}]
    before = lasting.workers(model)
    tritons = lasting.tritons()
    with Load(lasting.url, f"grpc://{lasting.grpc}", callers=2) as load:
        load.wait_for("TO05577")
        os.kill(min(before), sent)
        until(lambda: not before & lasting.workers(model), "the old workers away", every_s=0.1)
        until(lambda: len(lasting.workers(model)) == len(before), "new ones", every_s=0.1)
        load.wait_for("TO05577")
    assert load.errors == []
    assert {*load.texts} == {"TO05577"}
    assert lasting.tritons() == tritons
    assert [lasting.workers(other) for other in {"yolo", "lprnet", "stn"} - {model}] == others


@pytest.mark.parametrize("is_planned", [True, False], ids=["restart", "kill"])
def test_another_triton_takes_over_and_no_caller_notices(
    lasting: Serving, is_planned: bool
) -> None:
    before, gateways = lasting.tritons(), lasting.gateways()
    urls = (lasting.url, f"grpc://{lasting.grpc}")
    with Load(*urls, callers=1, pause_s=0.2) as load:  # leaves the cores to the new server
        load.wait_for("TO05577")
        os.kill(lasting.process.pid, signal.SIGHUP) if is_planned else kill(before)
        until(lambda: not before & lasting.tritons(), "the old server away", 300, every_s=0.2)
        until(lambda: len(lasting.tritons()) == 1, "the new server alone", 300, every_s=0.2)
        load.wait_for("TO05577")
    assert load.errors == []
    assert {*load.texts} == {"TO05577"}
    assert lasting.gateways() == gateways


def kill(processes: set[int]) -> None:
    for process in processes:
        os.kill(process, signal.SIGKILL)


def test_a_port_in_use_is_one_sentence(lasting: Serving) -> None:
    port = lasting.url.rpartition(":")[2]
    done = subprocess.run(
        [PLATES, "serve", f"--http-port={port}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert re.fullmatch(
        rf"plates: http_port: wanted a free port, got {port} .*--http-port\n",
        done.stderr,
    )
