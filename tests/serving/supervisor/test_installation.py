"""Location of a server's programs, and the layout of its backends for Triton."""

import os
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.supervisor import installation as wheel
from orchestrator.serving.supervisor.installation import STUB, Installation


@pytest.fixture
def installation() -> Installation:
    return wheel.find_installation()


def test_a_python_without_shared_libpython_is_told_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", {"LIBDIR": "/nowhere"}.get)
    monkeypatch.setattr(sys, "base_prefix", "/nowhere")
    library = rf"libpython3\.{sys.version_info.minor}"
    message = rf"shared libpython, got .* install the package {library}"
    with pytest.raises(ServerError, match=message):
        wheel.find_installation()


@pytest.mark.parametrize("libdir", ["/nowhere", "/" + "x" * 300], ids=["moved", "unreadable"])
def test_a_python_that_is_not_where_it_says_is_found(monkeypatch, tmp_path: Path, libdir) -> None:
    """A name that is too long is an error even for root, like a folder that nobody may read."""
    monkeypatch.setattr(sysconfig, "get_config_var", {"LIBDIR": libdir}.get)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / f"libpython3.{sys.version_info.minor}.so.1.0").touch()
    assert wheel.find_installation().libraries[0] == tmp_path / "lib"


def test_a_missing_wheel_is_named(monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ServerError, match="wanted the package nvidia-pytriton"):
        wheel.find_installation()


def files_below(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.glob("*/*")}


LAID_OUT = {
    "python/libtriton_python.so",
    "python/triton_python_backend_utils.py",
    "python/triton_python_backend_stub",
    "openvino/model.py",
    "pytorch/model.py",
}


def test_the_backends_are_laid_out_for_triton(installation, tmp_path: Path) -> None:
    backends = wheel.lay_out_backends(installation, tmp_path)
    assert files_below(backends) >= LAID_OUT


@pytest.fixture
def installed_program(tmp_path: Path) -> Path:
    """Program of a Triton that is installed as in NGC's images; nothing in its files."""
    root = tmp_path / "opt" / "tritonserver"
    for name in ("libtriton_python.so", "triton_python_backend_utils.py", STUB):
        (root / "backends" / "python").mkdir(parents=True, exist_ok=True)
        (root / "backends" / "python" / name).touch()
    (root / "bin").mkdir()
    (root / "bin" / "tritonserver").touch(mode=0o755)
    return root / "bin" / "tritonserver"


@pytest.fixture
def native_program(installed_program: Path) -> Path:
    """The same with a PyTorch backend."""
    folder = installed_program.parents[1] / "backends" / "pytorch"
    folder.mkdir()
    (folder / "libtriton_pytorch.so").touch()
    return installed_program


def test_an_installed_triton_needs_no_wheel(installed_program: Path, monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    installation = wheel.find_installation(installed_program)
    root = installed_program.parents[1]
    assert installation == Installation(root, root / "backends" / "python" / STUB, ())
    assert installation.program == installed_program


def test_a_link_or_a_path_leads_to_the_triton_that_it_names(
    installed_program: Path, installation, tmp_path: Path
) -> None:
    (tmp_path / "tritonserver").symlink_to(installed_program)
    assert wheel.find_installation(tmp_path / "tritonserver").program == installed_program
    assert wheel.find_installation(installation.program) == installation


@pytest.mark.parametrize("path", ["nothing", "."], ids=["nothing", "folder"])
def test_a_path_without_a_program_is_told(tmp_path: Path, path: str) -> None:
    message = f"^tritonserver: wanted a program that can be run, got {tmp_path}"
    with pytest.raises(ServerError, match=message):
        wheel.find_installation(tmp_path / path)


def test_a_triton_without_a_python_backend_is_told(installed_program: Path) -> None:
    (installed_program.parents[1] / "backends" / "python" / STUB).unlink()
    with pytest.raises(ServerError, match=r"wanted one with a Python backend, got .* without"):
        wheel.find_installation(installed_program)


def test_ours_takes_the_place_of_a_pytorch_backend_of_the_server(
    native_program: Path, tmp_path: Path
) -> None:
    installation = wheel.find_installation(native_program)
    backends = wheel.lay_out_backends(installation, tmp_path / "runtime")
    assert [file.name for file in (backends / "pytorch").iterdir()] == ["model.py"]


def test_other_backends_of_the_server_stay_for_the_operators_models(
    installed_program: Path, tmp_path: Path
) -> None:
    theirs = installed_program.parents[1] / "backends" / "onnxruntime"
    theirs.mkdir()
    (theirs / "libtriton_onnxruntime.so").touch()
    installation = wheel.find_installation(installed_program)
    backends = wheel.lay_out_backends(installation, tmp_path / "runtime")
    assert (backends / "onnxruntime").resolve() == theirs


@pytest.mark.parametrize("program", ["native_program", "installed_program"])
def test_ours_stand_beside_an_installed_python_backend_elsewhere(
    program: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(program)
    installation = wheel.find_installation(path)
    backends = wheel.lay_out_backends(installation, tmp_path / "runtime")
    assert files_below(backends) >= LAID_OUT
    assert (backends / "python").resolve() == path.parents[1] / "backends" / "python"


@pytest.fixture
def wheel_installation(installed_program: Path) -> Installation:
    """An installation whose worker's program lies elsewhere, as in the wheel."""
    installation = wheel.find_installation(installed_program)
    stub = installation.root / "python_backend_stubs" / "3.x" / STUB
    stub.parent.mkdir(parents=True)
    return replace(installation, stub=installation.stub.rename(stub))


@pytest.fixture
def _noexec(monkeypatch) -> None:
    """Every disk is mounted noexec."""

    class Mount:
        f_flag = os.ST_NOEXEC

    monkeypatch.setattr("os.statvfs", lambda path: Mount())


def test_backends_are_copied_to_where_programs_may_be_run(
    wheel_installation, tmp_path: Path
) -> None:
    backends = wheel.lay_out_backends(wheel_installation, tmp_path / "runtime")
    assert not (backends / "python").is_symlink()
    assert not wheel.has_stub(wheel_installation)
    assert files_below(backends) >= LAID_OUT


@pytest.mark.usefixtures("_noexec")
def test_nothing_is_run_from_a_disk_that_is_mounted_noexec(
    wheel_installation, tmp_path: Path
) -> None:
    backends = wheel.lay_out_backends(wheel_installation, tmp_path / "runtime")
    assert (backends / "python").resolve() == wheel_installation.root / "backends" / "python"
    assert files_below(backends) >= LAID_OUT


@pytest.mark.usefixtures("_noexec")
def test_no_disk_to_run_programs_from_is_told(
    wheel_installation, tmp_path: Path, monkeypatch
) -> None:
    def refuse(self: Path, target: str) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "symlink_to", refuse)
    message = f"^{tmp_path}: wanted a folder from which programs .* noexec, .*Read-only.*TMPDIR"
    with pytest.raises(ServerError, match=message):
        wheel.lay_out_backends(wheel_installation, tmp_path / "runtime")


def test_a_worker_is_placed_once(wheel_installation) -> None:
    assert not wheel.has_stub(wheel_installation)
    wheel.place_stub(wheel_installation)
    wheel.place_stub(wheel_installation)
    assert wheel.has_stub(wheel_installation)
    beside = wheel_installation.root / "backends" / "python" / STUB
    assert not beside.readlink().is_absolute()  # images are built where they do not run
