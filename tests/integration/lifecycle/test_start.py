"""Starts of a real server: failures are explained at once, and unusual conditions are handled."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import PlateClient
from orchestrator.errors import ServerError
from orchestrator.host.loopback import open_url
from orchestrator.serving.supervisor.installation import find_installation
from orchestrator.serving.supervisor.local_server import on_free_ports, prepare
from orchestrator.serving.supervisor.models.plate_models import MODELS
from orchestrator.serving.supervisor.models.repository_writer import RepositoryWriter, lay_out_ours
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import free_ports
from orchestrator.serving.supervisor.triton_start import run_server, start
from tests.integration.collector import run_collector
from tests.samples import PLATES, PROJECT, STREET, TEXTS, copy_of, copy_of_models
from workshop.benchmarks.processes import find_tree, find_workers


@pytest.fixture
def options() -> ServerOptions:
    return on_free_ports(prepare(ServerOptions(pictures=1)))


def write_with_file(model: str, name: str, change: Callable[[bytes], bytes]) -> RepositoryWriter:
    """Write our model repository with one file changed."""

    def models(options: ServerOptions, target: Path) -> Path:
        folder = lay_out_ours(options, target)
        file = folder / model / "1" / name
        file.write_bytes(change(file.read_bytes()))
        return folder

    return models


def write_alone(model: str, write: RepositoryWriter = lay_out_ours) -> RepositoryWriter:
    """Write a repository with one model only, because a failing start would wait for the others."""

    def models(options: ServerOptions, target: Path) -> Path:
        folder = write(options, target)
        for other in {*MODELS} - {model}:
            shutil.rmtree(folder / other)
        return folder

    return models


def fail_to_start(options: ServerOptions, models: RepositoryWriter | None = None) -> str:
    """Return the error of a failed start, after checking that it was one line, early, and clean."""
    leftovers, start_s = find_leftovers(), time.monotonic()
    with pytest.raises(ServerError) as raised:
        start(options, models)
    assert time.monotonic() - start_s < options.start_timeout_s / 2
    assert find_leftovers() <= leftovers
    assert "\n" not in str(raised.value)
    return str(raised.value)


def find_leftovers() -> set[str]:
    """Return the processes and the shared memory of this process's servers, not of other tests'."""
    regions = Path("/dev/shm").glob(f"plates_{os.getpid()}_*")
    return {*map(str, find_tree(os.getpid())), *map(str, regions)}


@pytest.mark.parametrize(
    ("code", "why"),
    [
        pytest.param("def x(:", "SyntaxError: invalid syntax (model.py, line 1)", id="syntax"),
        pytest.param(
            "raise RuntimeError('two\\nlines')", "RuntimeError: two lines", id="two-lines"
        ),
    ],
)
def test_the_error_of_a_model_that_does_not_load_is_that_of_the_start(
    options, code: str, why: str
) -> None:
    models = write_with_file("plate_recognition", "model.py", lambda _: code.encode())
    assert (
        fail_to_start(options, write_alone("plate_recognition", models))
        == f"plate_recognition: cannot be loaded: {why}"
    )


def test_a_worker_killed_while_it_loads_is_told_with_its_signal(options) -> None:
    models = write_with_file(
        "plate_recognition", "model.py", lambda _: b"import time; time.sleep(999)"
    )
    other_workers = frozenset(find_workers(os.getpid(), "plate_recognition"))
    killer = threading.Thread(target=kill_worker, args=("plate_recognition", other_workers))
    killer.start()
    why = fail_to_start(options, write_alone("plate_recognition", models))
    killer.join()
    assert why == "the worker of plate_recognition died while starting (SIGKILL)"


def kill_worker(model: str, other_workers: frozenset[int]) -> None:
    """Kill the first worker of a model of this server, shortly after it has started."""
    while not (new_workers := set(find_workers(os.getpid(), model)) - other_workers):
        time.sleep(0.1)
    time.sleep(0.5)  # it is seen alive
    os.kill(new_workers.pop(), signal.SIGKILL)


@pytest.fixture
def silent_proxy(monkeypatch) -> Iterator[list[bytes]]:
    """A proxy that accepts connections and never answers; yields the bytes that it received."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy, ExitStack() as callers:

        def accept() -> None:
            while True:
                try:
                    caller = callers.enter_context(proxy.accept()[0])
                except OSError:
                    return
                requests.append(caller.recv(1000))

        threading.Thread(target=accept, daemon=True).start()
        url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        for name in ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy"):
            monkeypatch.setenv(name, url)
            monkeypatch.setenv(name.upper(), url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield requests
        proxy.shutdown(socket.SHUT_RDWR)


def test_a_server_starts_whatever_its_surroundings(
    options, silent_proxy, tmp_path, monkeypatch
) -> None:
    """A start with a dead proxy, a module `random` in the working folder, and Triton's path.

    The server listens to every address.
    """
    (tmp_path / "random.py").write_text("raise RuntimeError('a stranger')")
    monkeypatch.chdir(tmp_path)
    program = find_installation().program
    with run_collector() as collector:
        server_options = replace(
            options, traces=collector.url, tritonserver=program, host="::", trust_network=True
        )
        with run_server(server_options) as server, PlateClient(server_options.http_url) as client:
            assert Path(f"/proc/{server.process.pid}/exe").readlink() == program.resolve()
            for url in (f"[::1]:{server_options.http_port}", f"grpc://{server.options.grpc_url}"):
                with PlateClient(url) as second_client:
                    assert set(second_client.recognize(STREET).texts) == set(TEXTS)
            assert b"nv_inference" in open_url(server.options.metrics_url, timeout_s=5).read()
            collector.wait_for(["past"], lambda: client.recognize(STREET, request_id="past"))
    assert silent_proxy == []


def test_a_repository_that_cannot_be_written_is_one_sentence(tmp_path) -> None:
    shutil.copytree(prepare(ServerOptions()).repository, tmp_path / "models")
    shutil.rmtree(tmp_path / "models" / "stn" / "1")
    (tmp_path / "models" / "stn" / "1").symlink_to("/proc")  # nobody writes there, not even root
    http, grpc, metrics = free_ports(3)
    ports = [f"--http-port={http}", f"--grpc-port={grpc}", f"--metrics-port={metrics}"]
    ports.append("--no-gateway")
    repository = f"--model-repository={tmp_path / 'models'}"
    child = subprocess.run(
        [PLATES, "serve", repository, *ports], capture_output=True, text=True, check=False
    )
    assert child.returncode == 2
    assert child.stderr.count("\n") == 1
    assert child.stderr.startswith(f"plates: {tmp_path}/models/stn/1: the exported network")


AS_DOCKER_MOUNTS = """
set -e
mount -t tmpfs -o noexec,nosuid,nodev,mode=1777 tmpfs "$TMPDIR"
mount -t tmpfs -o noexec,nosuid,nodev,mode=1777 tmpfs /dev/shm
cp -r "$BACKEND" "$COPY" && mount --bind "$COPY" "$BACKEND"
"$@"
! ls "$TMPDIR" | grep plates-
"""
"""Command for a private mount namespace, with other disks mounted noexec; only root may mount."""


def may_mount() -> bool:
    return subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0


def test_a_checkout_serves_whatever_its_path_and_where_no_temporary_folder_runs_programs(
    tmp_path: Path,
) -> None:
    """All files of the service lie in a folder whose name is hard to handle."""
    checkout = tmp_path / "мой проект" / "номера: a;b"
    for part in ("orchestrator", "weights"):
        copy_of(part, checkout)
    copy_of_models(checkout)
    (checkout / "tmp").mkdir()
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    backend = find_installation().backends / "python"
    environment |= {"COPY": str(tmp_path / "python"), "BACKEND": str(backend)}
    code = (
        f"import sys; sys.path = [{str(checkout)!r}, *(p for p in sys.path if p != "
        f"{str(PROJECT)!r})]; from orchestrator.cli.app import app; app()"
    )
    mount_command = (
        ["unshare", "--mount", "sh", "-c", AS_DOCKER_MOUNTS, "sh"] if may_mount() else []
    )
    child = subprocess.run(
        [*mount_command, sys.executable, "-c", code, "recognize", STREET],
        cwd=checkout,
        env={**environment, "LC_ALL": "C", "TMPDIR": str(checkout / "tmp")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert all(text in child.stdout for text in TEXTS)
    assert not list((checkout / "tmp").glob("plates-*"))
