"""`plates serve` as an operator runs it: its messages, its recovery, and its clean end."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator import PlateClient
from orchestrator.cli.startup import READY, SOCKET
from orchestrator.errors import PlateError
from orchestrator.serving.supervisor.local_server import prepare
from orchestrator.serving.supervisor.options import ServerOptions
from tests.integration.conftest import GREY
from tests.integration.load import CallerLoad
from tests.integration.serving import Serving, serve
from tests.samples import PLATES
from tests.waiting import until


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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The service's folder for temporary files, and that of systemd's socket."""
    return tmp_path_factory.mktemp("serving")


@pytest.fixture(scope="module")
def systemd(folder: Path) -> Iterator[socket.socket]:
    """A socket that stands in for systemd's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as notify_socket:
        notify_socket.bind(str(folder / "notify"))
        yield notify_socket


@pytest.fixture(scope="module")
def serving(systemd: socket.socket, folder: Path) -> Iterator[Serving]:
    """The service of all tests, which the last one ends."""
    prepare(ServerOptions())
    env = {**os.environ, "TMPDIR": str(folder), SOCKET: str(folder / "notify")}
    with serve("--pictures=2", "--gateway-processes=2", env=env) as running:
        yield running


def regions_of(serving: Serving) -> list[Path]:
    """Return the shared memory of a service."""
    return list(Path("/dev/shm").glob(f"plates_{serving.process.pid}_*"))


def test_serve_says_where_it_is(serving: Serving, systemd: socket.socket) -> None:
    assert systemd.recv(100) == READY
    assert f"  KServe   {serving.url}\n" in serving.output
    assert regions_of(serving)
    wait_for_answer(serving.url, 60)


def test_a_dead_gateway_is_replaced_beside_the_other(serving: Serving) -> None:
    workers, (dead, survivor) = serving.workers(), serving.gateways()
    os.kill(dead, signal.SIGKILL)
    until(lambda: len(serving.gateways() - {dead}) == 2, "a new gateway")
    wait_for_answer(serving.url, 60)
    assert survivor in serving.gateways()
    assert serving.workers() == workers != set()


@pytest.mark.parametrize(
    ("model", "number"),
    [
        pytest.param("lprnet", signal.SIGKILL, id="one of two is killed"),
        pytest.param("stn", signal.SIGSTOP, id="the only one is stopped"),
        pytest.param("plate_recognition", signal.SIGSEGV, id="one crashes"),
    ],
)
def test_a_lost_worker_is_replaced_alone_and_no_caller_notices(
    serving: Serving, model: str, number: signal.Signals
) -> None:
    workers_of_others = [serving.workers(other) for other in {"yolo", "lprnet", "stn"} - {model}]
    workers = serving.workers(model)
    tritons = serving.tritons()
    with CallerLoad(serving.url, f"grpc://{serving.grpc}", callers=2) as load:
        load.wait_for("TO05577")
        os.kill(min(workers), number)
        until(lambda: not workers & serving.workers(model), "the old workers away", every_s=0.1)
        until(lambda: len(serving.workers(model)) == len(workers), "new ones", every_s=0.1)
        load.wait_for("TO05577")
    assert load.errors == []
    assert {*load.texts} == {"TO05577"}
    assert serving.tritons() == tritons, serving.log.read_text()
    assert [
        serving.workers(other) for other in {"yolo", "lprnet", "stn"} - {model}
    ] == workers_of_others


def test_pictures_are_counted_at_once_and_those_of_lost_workers_stay(serving: Serving) -> None:
    wait_for_answer(serving.url, 60)
    before, workers = count_pictures(serving), serving.workers("plate_recognition")
    with PlateClient(serving.url) as client:
        for _ in range(3):
            client.recognize(GREY)
        assert count_pictures(serving) == before + 3
        kill(workers)
        assert count_pictures(serving) == before + 3
        until(lambda: len(serving.workers("plate_recognition") - workers) == 2, "new workers")
        client.recognize(GREY)
    assert count_pictures(serving) == before + 4


def count_pictures(serving: Serving) -> float:
    """Return how many pictures all workers together have counted."""
    page = urllib.request.urlopen(f"http://{serving.url}/metrics", timeout=60).read().decode()
    (count,) = re.findall(r"^plates_pictures_total (\S+)$", page, re.MULTILINE)
    return float(count)


@pytest.mark.parametrize("is_planned", [True, False], ids=["restart", "kill"])
def test_another_triton_takes_over_and_no_caller_notices(
    serving: Serving, is_planned: bool
) -> None:
    tritons, gateways = serving.tritons(), serving.gateways()
    urls = (serving.url, f"grpc://{serving.grpc}")
    with CallerLoad(*urls, callers=1, pause_s=0.2) as load:  # leaves the cores to the new server
        load.wait_for("TO05577")
        os.kill(serving.process.pid, signal.SIGHUP) if is_planned else kill(tritons)
        until(lambda: not tritons & serving.tritons(), "the old server away", 300, every_s=0.2)
        until(lambda: len(serving.tritons()) == 1, "the new server alone", 300, every_s=0.2)
        load.wait_for("TO05577")
    assert load.errors == []
    assert {*load.texts} == {"TO05577"}
    assert serving.gateways() == gateways


def kill(processes: set[int]) -> None:
    for process in processes:
        os.kill(process, signal.SIGKILL)


def test_a_port_in_use_is_one_sentence(serving: Serving) -> None:
    port = serving.url.rpartition(":")[2]
    child = subprocess.run(
        [PLATES, "serve", f"--http-port={port}"], capture_output=True, text=True, check=False
    )
    assert child.returncode == 2
    assert re.fullmatch(
        rf"plates: http_port: wanted a free port, got {port} .*--http-port\n",
        child.stderr,
    )


def test_the_end_leaves_no_trace(serving: Serving, folder: Path) -> None:
    serving.process.send_signal(signal.SIGINT)
    assert serving.process.wait(60) == 0
    assert regions_of(serving) == []
    assert list(folder.glob("plates-*")) == []
