"""Starting the server: what can be told without one. tests/integration has the rest."""

import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import ServerError
from orchestrator.server import distribution as wheel
from orchestrator.server import supervisor
from orchestrator.server.options import ServerOptions
from orchestrator.server.repository import MODELS
from orchestrator.server.runtime import Runtime


@pytest.fixture
def distribution() -> wheel.Distribution:
    return wheel.find_distribution()


def test_a_python_without_shared_libpython_is_told_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", {"LIBDIR": "/nowhere"}.get)
    monkeypatch.setattr(sys, "base_prefix", "/nowhere")
    library = rf"libpython3\.{sys.version_info.minor}"
    message = rf"shared libpython, got .* install the package {library}"
    with pytest.raises(ServerError, match=message):
        wheel.find_distribution()


def test_a_python_that_was_moved_is_found_where_it_is(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", {"LIBDIR": "/nowhere"}.get)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / f"libpython3.{sys.version_info.minor}.so.1.0").touch()
    assert wheel.find_distribution().libraries[0] == tmp_path / "lib"


def test_a_missing_wheel_is_named(monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ServerError, match="wanted the package nvidia-pytriton"):
        wheel.find_distribution()


def variables_of(distribution: wheel.Distribution, **asked_for: object) -> dict[str, str]:
    runtime = Runtime.make()
    try:
        return wheel.environment(ServerOptions(**asked_for), distribution, runtime)
    finally:
        runtime.remove()


def test_the_cpu_device_hides_the_gpus(distribution) -> None:
    variables = variables_of(distribution, device="cpu")
    assert variables["CUDA_VISIBLE_DEVICES"] == ""


def test_threads_are_those_asked_for_or_what_fits(distribution, monkeypatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    threads = [variables_of(distribution, threads=count)["OMP_NUM_THREADS"] for count in (0, 1)]
    assert threads == ["3", "1"]


def test_idle_threads_do_not_spin_unless_asked_to(distribution, monkeypatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert variables_of(distribution)["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert variables_of(distribution)["OMP_WAIT_POLICY"] == "ACTIVE"


def test_a_collector_on_this_machine_needs_no_proxy(distribution, monkeypatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", "corp.example")
    variables = variables_of(distribution, traces="http://localhost:4318/v1/traces")
    assert variables["no_proxy"] == variables["NO_PROXY"] == "corp.example,localhost,::1,127.0.0.1"


def test_what_goes_to_another_machine_is_the_operators(distribution, monkeypatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", "10.0.0.5")  # after which no name may come: see NAMES
    variables = variables_of(distribution, traces="http://10.0.0.5:4318/v1/traces")
    assert variables["NO_PROXY"] == "10.0.0.5"
    assert "no_proxy" not in variables


def test_the_backends_are_laid_out_for_triton(distribution, tmp_path) -> None:
    backends = wheel.lay_out_backends(distribution, tmp_path)
    files = {str(path.relative_to(backends)) for path in backends.rglob("*") if path.is_file()}
    assert files >= {
        "python/libtriton_python.so",
        "python/triton_python_backend_utils.py",
        "python/triton_python_backend_stub",
        "openvino/model.py",
        "pytorch/model.py",
    }


def test_triton_listens_where_it_is_asked_to(distribution) -> None:
    flags = flags_of(distribution, host="127.0.0.2", http_port=1, grpc_port=2, metrics_port=3)
    hosts = {f"--{name}-address=127.0.0.2" for name in ("http", "grpc", "metrics")}
    assert hosts | {"--http-port=1", "--grpc-port=2", "--metrics-port=3"} <= set(flags)


@pytest.mark.parametrize(
    ("asked_for", "is_kept"),
    [
        pytest.param({}, False, id="this-machine-alone"),
        pytest.param({"admin_key": "gate"}, True, id="with-a-key"),
        pytest.param({"host": "0.0.0.0"}, True, id="others-and-no-key"),
        pytest.param({"host": "0.0.0.0", "admin_key": "gate"}, True, id="others-and-a-key"),
    ],
)
def test_administration_is_kept_from_who_is_a_stranger(
    distribution, asked_for: dict[str, str], is_kept: bool
) -> None:
    flags = flags_of(distribution, **asked_for)
    kept = [flag for flag in flags if "restricted" in flag]
    assert len(kept) == (2 if is_kept else 0)
    assert all("model-repository,shared-memory,trace,logging:" in flag for flag in kept)
    assert all(len(flag.rpartition("=")[2]) >= 4 for flag in kept)


def test_a_key_that_nobody_named_is_another_each_time(distribution) -> None:
    assert flags_of(distribution, host="0.0.0.0") != flags_of(distribution, host="0.0.0.0")


def test_every_repository_is_named(distribution) -> None:
    flags = flags_of(distribution)
    named = [flag for flag in flags if flag.startswith("--model-repository=")]
    assert named == ["--model-repository=r", "--model-repository=s"]


def test_explicit_control_loads_no_models_of_others(distribution, tmp_path: Path) -> None:
    flags = flags_of(distribution, explicit=True, repository=tmp_path)
    assert "--model-control-mode=explicit" in flags
    assert not any("--load-model" in flag for flag in flags)


def test_explicit_control_loads_our_models(distribution) -> None:
    flags = flags_of(distribution, explicit=True)
    assert "--model-control-mode=explicit" in flags
    assert {flag for flag in flags if flag.startswith("--load-model=")} == {
        f"--load-model={name}" for name in MODELS
    }


def flags_of(distribution: wheel.Distribution, **asked_for: object) -> list[str]:
    return wheel.command(
        ServerOptions(**asked_for), distribution, [Path("r"), Path("s")], Path("b"), "shm_"
    )


class Dies:
    """A server that is found dead each time it is looked at."""

    def __init__(self) -> None:
        self.stops = 0

    def stop(self, timeout_s: float = 0.0) -> None:
        self.stops += 1

    def is_whole(self) -> bool:
        return False


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """How long a supervisor waited before it started a server again; it waits for nothing here."""
    waited: list[float] = []
    monkeypatch.setattr(supervisor, "AGAIN", replace(supervisor.AGAIN, sleep=waited.append))
    monkeypatch.setattr("orchestrator.server.supervisor.time.sleep", lambda seconds: None)
    return waited


def test_a_start_that_fails_is_tried_again(monkeypatch, pauses) -> None:
    begun = [ServerError("no memory yet"), ServerError("no port yet"), Dies(), KeyboardInterrupt()]

    def start(options: ServerOptions) -> Dies:
        outcome = begun.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(supervisor, "start", start)
    dead = Dies()
    with pytest.raises(KeyboardInterrupt):
        supervisor.keep_running(dead, ServerOptions())
    assert (dead.stops, len(pauses)) == (1, 2)


def test_a_server_that_never_starts_again_is_given_up(monkeypatch, pauses) -> None:
    def start(options: ServerOptions) -> Dies:
        raise ServerError("no disk")

    monkeypatch.setattr(supervisor, "start", start)
    with pytest.raises(ServerError, match="no disk"):
        supervisor.keep_running(Dies(), ServerOptions())
