"""The daemon of MPS, with a stand-in for NVIDIA's program."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.supervisor.installation import find_installation
from orchestrator.serving.supervisor.launch.command import environment
from orchestrator.serving.supervisor.mps import DEFAULT_PIPES, PIPES, PROGRAM, run_mps, with_mps
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.server_folder import ServerFolder, remove_leftovers
from tests.waiting import until
from workshop.benchmarks.first_light.__main__ import list_steps
from workshop.benchmarks.first_light.steps import WHOLE

DAEMON = """#!/bin/sh
if [ "$1" = "-d" ]; then
    env > "$FOLDER/environment"
    echo $$ > "$CUDA_MPS_PIPE_DIRECTORY/control"
    sleep 60 &
    echo $! > "$FOLDER/daemon"
else
    read word
    echo "$word" >> "$FOLDER/said"
    rm "$CUDA_MPS_PIPE_DIRECTORY/control"
    kill "$(cat "$FOLDER/daemon")"
fi
"""
FAILING = "#!/bin/sh\necho 'An instance of this daemon is already running' >&2\nexit 1\n"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def write(script: str) -> Path:
        program = tmp_path / PROGRAM
        program.write_text(script)
        program.chmod(0o755)
        return tmp_path

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("FOLDER", str(tmp_path))
    monkeypatch.setenv(PIPES, str(tmp_path / "none"))
    return write


def test_a_daemon_runs_for_its_clients_and_is_told_to_quit(install) -> None:
    folder = install(DAEMON)
    with run_mps() as variables:
        daemon = int((folder / "daemon").read_text())
        os.kill(daemon, 0)
        assert Path(variables[PIPES], "control").exists()
    assert (folder / "said").read_text() == "quit\n"
    assert not Path(variables[PIPES]).exists()


def test_a_server_that_asks_for_it_finds_the_daemon(
    install, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install(DAEMON)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    with with_mps(ServerOptions(device="gpu", mps=True)) as options:
        files = ServerFolder.make()
        try:
            variables = environment(options, find_installation(), files)
        finally:
            files.remove()
        assert Path(variables[PIPES], "control").exists()
    assert variables["CUDA_VISIBLE_DEVICES"] == "1"
    # The daemon would number the GPUs that it offers anew: GPU 1 of a single one does not exist.
    assert "CUDA_VISIBLE_DEVICES" not in (folder / "environment").read_text()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(ServerOptions(device="gpu"), id="not asked for"),
        pytest.param(ServerOptions(device="cpu", mps=True), id="no GPU"),
    ],
)
def test_other_servers_start_no_daemon(install, options: ServerOptions) -> None:
    folder = install(DAEMON)
    with with_mps(options) as given:
        assert given is options
    assert not (folder / "daemon").exists()


def test_the_daemon_of_a_killed_service_is_ended_by_the_next(
    install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = install(DAEMON)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    wait = "import time; from orchestrator.serving.supervisor.mps import run_mps\n"
    wait += "with run_mps(): time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", wait]) as service:
        until(lambda: (folder / "daemon").exists() and (folder / "daemon").read_text(), "a daemon")
        service.send_signal(signal.SIGKILL)
    daemon = Path("/proc", (folder / "daemon").read_text().strip())
    assert daemon.exists()
    remove_leftovers()
    until(lambda: not daemon.exists(), "its end")
    assert not [*tmp_path.glob("plates-mps-*")]


def test_a_daemon_quits_after_an_error_too(install) -> None:
    folder = install(DAEMON)
    with pytest.raises(ServerError, match="bench"), run_mps():
        raise ServerError("bench")
    assert (folder / "said").read_text() == "quit\n"


def test_a_daemon_that_runs_already_is_used_and_goes_on(
    install, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install(FAILING)
    (folder / "control").touch()
    monkeypatch.setenv(PIPES, str(folder))
    with run_mps() as variables:
        assert variables == {}
    assert (folder / "control").exists()


def test_a_daemon_that_does_not_start_says_why(install) -> None:
    install(FAILING)
    with pytest.raises(ServerError, match=r"already running$"), run_mps():
        pass


@pytest.mark.skipif(Path(DEFAULT_PIPES).exists(), reason="a daemon runs here")
def test_without_the_program_there_is_no_step_and_a_clear_sentence(install, tmp_path: Path) -> None:
    assert "settings-mps" not in list_steps(WHOLE)
    with pytest.raises(ServerError, match="no such program; NVIDIA's driver brings it"), run_mps():
        pass
    install(DAEMON)
    assert "settings-mps" in list_steps(WHOLE)
