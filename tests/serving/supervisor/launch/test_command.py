"""The command line of Triton, tested without Triton; tests/integration covers the rest."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.networks.engines import Engine
from orchestrator.serving.supervisor.installation import Installation, find_installation
from orchestrator.serving.supervisor.launch.command import command, environment
from orchestrator.serving.supervisor.models.plate_models import MODELS
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.server_folder import ServerFolder


@pytest.fixture
def installation() -> Installation:
    return find_installation()


def variables_of(installation: Installation, **asked_for: object) -> dict[str, str]:
    folder = ServerFolder.make()
    try:
        return environment(ServerOptions(**asked_for), installation, folder)
    finally:
        folder.remove()


def test_the_cpu_device_hides_the_gpus(installation) -> None:
    variables = variables_of(installation, device="cpu")
    assert variables["CUDA_VISIBLE_DEVICES"] == ""


def test_threads_are_those_asked_for_or_what_fits(installation, monkeypatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    threads = [variables_of(installation, threads=count)["OMP_NUM_THREADS"] for count in (0, 1)]
    assert threads == ["3", "1"]


def test_idle_threads_do_not_spin_unless_asked_to(installation, monkeypatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert variables_of(installation)["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert variables_of(installation)["OMP_WAIT_POLICY"] == "ACTIVE"


def test_a_collector_on_this_machine_needs_no_proxy(installation, monkeypatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", "corp.example")
    variables = variables_of(installation, traces="http://localhost:4318/v1/traces")
    assert variables["no_proxy"] == variables["NO_PROXY"] == "corp.example,localhost,::1,127.0.0.1"


def test_what_goes_to_another_machine_is_the_operators(installation, monkeypatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", "10.0.0.5")  # after which no name may come: see NAMES
    variables = variables_of(installation, traces="http://10.0.0.5:4318/v1/traces")
    assert variables["NO_PROXY"] == "10.0.0.5"
    assert "no_proxy" not in variables


def test_triton_listens_where_it_is_asked_to_written_as_each_of_its_servers_wants_it(
    installation,
) -> None:
    flags = flags_of(installation, host="127.0.0.2", http_port=1, grpc_port=2, metrics_port=3)
    hosts = {f"--{name}-address=127.0.0.2" for name in ("http", "grpc", "metrics")}
    assert hosts | {"--http-port=1", "--grpc-port=2", "--metrics-port=3"} <= set(flags)
    hosts = {"--http-address=ipv6:::1", "--metrics-address=ipv6:::1", "--grpc-address=[::1]"}
    assert hosts <= set(flags_of(installation, host="::1"))


@pytest.mark.parametrize("options", [{}, {"admin_key": "gate"}])
def test_administration_is_kept_from_who_does_not_know_the_key(
    installation, options: dict[str, str]
) -> None:
    restrictions = [flag for flag in flags_of(installation, **options) if "restricted" in flag]
    assert len(restrictions) == 2
    assert all("model-repository,shared-memory,trace,logging:" in flag for flag in restrictions)
    assert all(len(flag.rpartition("=")[2]) >= 4 for flag in restrictions)


def test_calls_want_a_key_where_there_is_one(installation) -> None:
    restrictions = [
        flag for flag in flags_of(installation, caller_key="door") if "restricted" in flag
    ]
    apis = "inference,metadata,statistics,model-config:plates-caller-key=door"
    assert restrictions[2:] == [
        f"--http-restricted-api={apis}",
        f"--grpc-restricted-protocol={apis}",
    ]


def test_folders_of_libraries_that_do_not_exist_are_left_out(
    installation, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    with_folder = replace(installation, libraries=(tmp_path / "nothing", tmp_path))
    assert variables_of(with_folder)["LD_LIBRARY_PATH"] == str(tmp_path)
    without_folders = replace(installation, libraries=(tmp_path / "nothing",))
    assert "LD_LIBRARY_PATH" not in variables_of(without_folders)


@pytest.mark.parametrize("one_by_one", [True, False])
def test_models_are_loaded_one_by_one_where_asked(installation, one_by_one: bool) -> None:
    line = command(ServerOptions(), installation, [], Path("b"), "shm", one_by_one=one_by_one)
    assert ("--model-load-thread-count=1" in line) is one_by_one


def test_explicit_control_loads_our_models_and_none_of_others(installation, tmp_path: Path) -> None:
    our_flags = flags_of(installation, explicit=True)
    flags_of_others = flags_of(installation, explicit=True, repository=tmp_path)
    loaded_models = [
        {flag for flag in flags if flag.startswith("--load-model=")}
        for flags in (our_flags, flags_of_others)
    ]
    assert loaded_models == [{f"--load-model={name}" for name in MODELS}, set()]
    assert all("--model-control-mode=explicit" in flags for flags in (our_flags, flags_of_others))


def flags_of(installation: Installation, **asked_for: object) -> list[str]:
    return command(
        ServerOptions(**asked_for), installation, [Path("r"), Path("s")], Path("b"), "shm_"
    )


@pytest.fixture
def native(tmp_path: Path) -> Installation:
    """A Triton with a PyTorch backend of its own."""
    (tmp_path / "backends" / "pytorch").mkdir(parents=True)
    (tmp_path / "backends" / "pytorch" / "libtriton_pytorch.so").touch()
    return Installation(tmp_path, tmp_path / "stub")


@pytest.mark.parametrize("engine", [Engine.TORCHSCRIPT, Engine.OPENVINO])
def test_an_installed_triton_is_run_with_our_backends_told_where_to_exchange_tensors(
    native: Installation, engine: Engine
) -> None:
    flags = flags_of(native, engine=engine)
    assert flags[0] == str(native.root / "bin" / "tritonserver")
    backend_flags = [flag for flag in flags if flag.startswith("--backend-config")]
    memory_flags = [flag for flag in backend_flags if flag.endswith("shm-region-prefix-name=shm_")]
    for chosen_flags in (backend_flags, memory_flags):
        assert {flag.split(",")[0].split("=")[1] for flag in chosen_flags} == {
            "python",
            "openvino",
            "pytorch",
        }
