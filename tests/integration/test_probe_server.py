"""The probe of a container against a real server, whole and broken."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

from benchmarks.processes import find_workers
from orchestrator import probe
from orchestrator.server.local import on_free_ports, prepare
from orchestrator.server.options import ServerOptions
from orchestrator.server.process import Server, is_ready, run_server


def run(url: str) -> subprocess.CompletedProcess[str]:
    """Probe the way a container does."""
    command = [sys.executable, "-IS", probe.__file__, "--url", url, "--timeout", "5"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_real_server_reads_the_picture(server: Server) -> None:
    done = run(server.options.http_url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("read A123BC77\n")


def test_a_dead_worker_is_noticed_though_triton_says_ready() -> None:
    options = replace(
        on_free_ports(prepare(ServerOptions())), pictures=1
    )  # one worker for each model
    with run_server(options) as own:
        assert run(options.http_url).returncode == 0
        (worker,) = find_workers(own.process.pid, "lprnet")
        os.kill(worker, signal.SIGKILL)
        assert is_ready(options)
        done = run(options.http_url)
    assert done.returncode == 1
    assert "wanted A123BC77, got HTTP 503: lprnet: " in done.stderr
