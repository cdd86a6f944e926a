"""The probe of a container against a real server, whole and broken."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from orchestrator import probe
from orchestrator.triton.local import on_free_ports, prepared
from orchestrator.triton.server import Server, is_ready, running


def run(url: str) -> subprocess.CompletedProcess[str]:
    """Probe the way a container does."""
    command = [sys.executable, "-IS", probe.__file__, "--url", url, "--timeout", "5"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def workers_of(server: Server, model: str) -> list[int]:
    """Return the processes that run a model."""
    return [
        int(file.parent.name)
        for file in Path("/proc").glob("[0-9]*/cmdline")
        if server.shm_prefix in (line := command_of(file)) and f"/{model}/" in line
    ]


def command_of(cmdline: Path) -> str:
    """Return a process's command, `""` when it has ended meanwhile."""
    try:
        return cmdline.read_text(errors="replace")
    except OSError:
        return ""


def test_the_real_server_reads_the_picture(server: Server) -> None:
    done = run(server.options.http_url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("read A123BC77\n")


def test_a_dead_worker_is_noticed_though_triton_says_ready() -> None:
    options = replace(on_free_ports(prepared()), pictures=1)  # one worker for each model
    with running(options) as own:
        assert run(options.http_url).returncode == 0
        (worker,) = workers_of(own, "lprnet")
        os.kill(worker, signal.SIGKILL)
        assert is_ready(options)
        done = run(options.http_url)
    assert done.returncode == 1
    assert "wanted A123BC77, got HTTP 503: lprnet: " in done.stderr
