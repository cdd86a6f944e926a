"""A server with a successor ends after its last call is answered."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from orchestrator import PlateClient
from orchestrator.contract import MODEL
from orchestrator.serving.supervisor.launch.shutdown import IDLE_S
from orchestrator.serving.supervisor.local_server import on_free_ports, prepare
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_start import run_server, start
from tests.integration.gate import Gate, gated
from tests.samples import STREET
from tests.waiting import until


def test_it_is_not_told_to_end_before_a_call_in_work_is_answered(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    options = replace(on_free_ports(prepare(ServerOptions(device="cpu"))), pictures=1)
    with (
        run_server(options, partial(gated, gate=gate, model=MODEL)) as server,
        PlateClient(options.http_url, timeout_s=60) as client,
        ThreadPoolExecutor(2) as pool,
    ):
        called = pool.submit(client.recognize, STREET)
        until(lambda: gate.waiting() == 1, "a call in work")
        looks: list[float] = []  # at others
        retired = pool.submit(server.drain, 60, lambda: looks.append(time.monotonic()))
        time.sleep(2 * IDLE_S)
        assert client.is_ready()  # nobody has told it to end yet
        opened = time.monotonic()
        gate.open()
        assert len(called.result()) == 3
        retired.result()
        assert not server.is_running()
        assert len([at for at in looks if at < opened]) > 1
        assert len([at for at in looks if at > opened + IDLE_S]) > 1


def test_what_others_raise_comes_after_its_end(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("not a number")

    options = replace(on_free_ports(prepare(ServerOptions(device="cpu"))), pictures=1)
    server = start(options)
    with pytest.raises(ValueError, match="not a number"):
        server.drain(on_wait=fail)
    assert not server.is_running()
    assert not server.folder.path.exists()
