"""Checks before a start."""

import resource
import shutil
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ServerError, SettingsError
from orchestrator.host.resources import MIB
from orchestrator.serving.supervisor import preflight
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import free_ports
from tests.samples import copy_of


def test_a_machine_that_does_not_know_localhost_is_told_so(monkeypatch) -> None:
    def fail(*name: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ServerError, match=r"^localhost:8000: this machine does not know the name"):
        preflight.check_localhost(ServerOptions())


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::"])
def test_triton_listens_to_others_only_where_they_are_trusted(host: str) -> None:
    message = f"^host: wanted an address of this machine alone for bare Triton, got {host}: .*--tr"
    with pytest.raises(SettingsError, match=message):
        preflight.check_network(ServerOptions(host=host))
    preflight.check_network(ServerOptions(host=host, trust_network=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_triton_listens_to_this_machine(host: str) -> None:
    preflight.check_network(ServerOptions(host=host))


def test_missing_shared_memory_is_told(tmp_path) -> None:
    message = "/shm: wanted shared memory for the workers, got No such file.*; mount a memory"
    with pytest.raises(ServerError, match=message):
        preflight.check_shared_memory(ServerOptions(device="cpu"), tmp_path / "shm")


def test_too_little_shared_memory_is_told_before_the_start() -> None:
    options = ServerOptions(device="cpu", pictures=3)
    with pytest.raises(ServerError, match=r"/proc: wanted \d+ MB for \d+ workers, got 0 MB; with"):
        preflight.check_shared_memory(options, Path("/proc"))  # which has no room at all
    preflight.check_shared_memory(options, Path("/dev/shm"))


@pytest.fixture
def file_limits() -> Iterator[None]:
    """Restore the limit of open files."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.usefixtures("file_limits")
def test_a_low_limit_of_open_files_is_raised_as_far_as_permitted() -> None:
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard_limit))
    preflight.check_files(ServerOptions(device="cpu", pictures=3))
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(hard_limit, 16384)


@pytest.mark.parametrize(("limit", "is_enough"), [(64, False), (1024, True)])
def test_too_low_a_limit_of_open_files_is_told_before_the_start(
    monkeypatch, limit: int, *, is_enough: bool
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (limit, limit))
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, _limits: None)
    message = r"^open files: wanted a limit of \d+ for \d+ workers, got 64; raise it: ulimit -n"
    with nullcontext() if is_enough else pytest.raises(ServerError, match=message):
        preflight.check_files(ServerOptions(device="cpu", pictures=3))


def test_the_largest_call_fits_into_the_shared_memory_that_workers_leave() -> None:
    options = ServerOptions(device="cpu", pictures=3)
    assert preflight.shared_bytes_of_call(options, Path("/proc")) == 0
    free = shutil.disk_usage("/dev/shm").free
    assert 0 < preflight.shared_bytes_of_call(options, Path("/dev/shm")) < free / 3


@pytest.mark.parametrize(
    ("few", "many"),
    [
        pytest.param({"pictures": 1}, {"pictures": 3}, id="fewer-pictures"),
        pytest.param(
            {"pictures": 2, "one_model": True}, {"pictures": 2, "instances": 2}, id="one-model"
        ),
    ],
)
def test_too_little_memory_is_told_before_the_start(few: dict, many: dict) -> None:
    memory_bytes = 1112 * MIB
    preflight.check_memory(ServerOptions(device="cpu", **few), memory_bytes)
    message = (
        r"^memory: wanted 1\d{3} MiB for \d+ workers and their pictures, got 1112 MiB; with Docker "
        r"use a larger --memory, in Kubernetes a larger limits\.memory$"
    )
    with pytest.raises(ServerError, match=message):
        preflight.check_memory(ServerOptions(device="cpu", **many), memory_bytes)


def test_the_memory_of_other_models_is_not_known(tmp_path: Path) -> None:
    preflight.check_memory(ServerOptions(device="cpu", repository=tmp_path), MIB)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"device": "gpu"}, "wanted --one-model on a CPU, got a GPU: .*", id="gpu"),
        pytest.param({"instances": 2}, "wanted --one-model or --instances, got both", id="counts"),
        pytest.param({"explicit": True}, ".* is served as it lies, in the composition", id="made"),
    ],
)
def test_the_networks_are_in_one_model_only_on_a_cpu_in_models_made_here(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    defaults = {"device": "cpu", "repository": copy_of("model_repository", tmp_path)}
    preflight.check_one_model(ServerOptions(**defaults, one_model=True))
    preflight.check_one_model(ServerOptions(**defaults | options))
    with pytest.raises(SettingsError, match=f"^{message}"):
        preflight.check_one_model(ServerOptions(**defaults | options, one_model=True))


def test_a_start_asks_for_the_memory_of_this_machine(monkeypatch) -> None:
    monkeypatch.setattr(preflight, "usable_memory", lambda: 512 * MIB)
    http, grpc, metrics = free_ports(3)
    ports = {"http_port": http, "grpc_port": grpc, "metrics_port": metrics}
    with pytest.raises(ServerError, match=r"^memory: wanted .* got 512 MiB"):
        preflight.check(ServerOptions(device="cpu", **ports))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"traces": "collector:4318"}, "traces: wanted http://.*, got collector:4318"),
        pytest.param(
            {"traces": "http://a,rate=1"}, "traces: wanted http://.*, got http://a,rate=1"
        ),
        pytest.param({"admin_key": "a:b"}, "admin key: wanted letters, .* got other characters"),
        pytest.param({"admin_key": ""}, "admin key: wanted letters, .* got other characters"),
    ],
)
def test_texts_that_triton_would_misunderstand_are_refused(options, message: str) -> None:
    with pytest.raises(ServerError, match=message):
        preflight.check_texts(ServerOptions(**options))


@pytest.mark.parametrize(
    ("device", "message"),
    [("tpu", "wanted one of auto, cpu, gpu, got tpu"), ("gpu", "wanted a GPU, got none")],
)
def test_a_device_that_is_not_there_is_refused(monkeypatch, device: str, message: str) -> None:
    monkeypatch.setattr(preflight, "explain_no_gpu", lambda: "no driver")
    with pytest.raises(ServerError, match=message):
        preflight.check_device(device)


@pytest.mark.parametrize(
    "changes", [{"weights": Path("mine")}, {"formats": Path("mine/formats.toml")}], ids=str
)
def test_a_repository_with_its_networks_in_it_takes_no_others(tmp_path: Path, changes) -> None:
    (tmp_path / "plate_recognition" / "1").mkdir(parents=True)
    (tmp_path / "plate_recognition" / "1" / "formats.toml").touch()
    options = ServerOptions(repository=tmp_path)
    preflight.check_as_it_lies(options)
    with pytest.raises(SettingsError, match="is served as it lies: wanted neither weights nor"):
        preflight.check_as_it_lies(replace(options, **changes))
