"""The installer: which Python it takes, and its reading of poetry.lock."""

import argparse
import ast
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "install.py"
PYPROJECT = (SCRIPT.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
ALWAYS, NEVER = 'python_version >= "3"', 'python_version < "3"'


@pytest.fixture
def install() -> ModuleType:
    return load()


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("install", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def a_python(path: Path, described: str) -> str:
    """A program that describes itself as some Python."""
    path.write_text(f"#!/bin/sh\necho {described}\n")
    path.chmod(0o755)
    return str(path)


def test_any_python_from_3_9_on_can_read_the_script() -> None:
    ast.parse(SCRIPT.read_text(), feature_version=(3, 9))


def test_this_python_can_run_the_server(install) -> None:
    assert install.fault_of(sys.executable) == ""


@pytest.mark.parametrize(
    ("described", "fault"),
    [
        pytest.param("3.11 True", "", id="oldest on every machine"),
        pytest.param("3.12 True", "", id="newest"),
        pytest.param("3.9 True", "which is 3.9", id="too-old"),
        pytest.param("3.13 True", "which is 3.13", id="too-new"),
        pytest.param("3.12 False", r"which is without libpython3.12.so.1.0 .*apt", id="static"),
    ],
)
def test_a_python_that_cannot_run_the_server_is_told_why(
    install, tmp_path: Path, described: str, fault: str
) -> None:
    assert re.match(f"{fault}$|{fault} ", install.fault_of(a_python(tmp_path / "py", described)))


def test_a_python_that_is_not_there_is_a_fault(install, tmp_path: Path) -> None:
    assert install.fault_of(tmp_path / "py") == "which does not run (No such file or directory)"


@pytest.mark.parametrize(
    ("machine", "oldest"), [("x86_64", "3.10"), ("aarch64", "3.11"), ("riscv64", "3.11")]
)
def test_the_oldest_python_is_that_for_which_the_machine_has_wheels(
    monkeypatch, machine: str, oldest: str
) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=machine))
    assert load().WANTED.startswith(f"Python {oldest} to 3.12 ")


def test_extras_are_split_and_checked(install) -> None:
    assert install.split_extras("") == ()
    assert install.split_extras("cameras,s3") == ("cameras", "s3")
    with pytest.raises(
        argparse.ArgumentTypeError, match=r"wanted some of archive, .* got 'camera'"
    ):
        install.split_extras("camera")


def test_the_extras_are_those_of_the_package(install) -> None:
    extras = re.search(r"^\[project.optional-dependencies\]\n(.*?)^\[", PYPROJECT, re.M | re.S)[1]
    extra_names = re.findall(r"^([a-z0-9-]+) = \[", extras, re.MULTILINE)
    assert sorted({*extra_names} - {install.SERVER}) == [*install.EXTRAS]


def test_the_python_that_was_named_is_taken(install, monkeypatch, tmp_path: Path) -> None:
    mine = a_python(tmp_path / "mine", "3.11 True")
    monkeypatch.setenv("PLATES_PYTHON", mine)
    assert install.choose_python() == mine


def test_no_other_is_taken_when_the_one_that_was_named_is_unfit(
    install, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PLATES_PYTHON", a_python(tmp_path / "mine", "3.14 True"))
    with pytest.raises(SystemExit, match=r"PLATES_PYTHON: wanted Python 3.1[01] .*mine, which"):
        install.choose_python()


def test_the_next_best_of_the_path_is_taken(install, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PLATES_PYTHON", raising=False)
    monkeypatch.setattr(sys, "executable", a_python(tmp_path / "python3", "3.13 True"))
    a_python(tmp_path / "python3.12", "3.12 False")
    a_python(tmp_path / "python3.11", "3.11 True")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert install.choose_python() == "python3.11"


def test_where_none_can_be_fetched_both_ways_out_are_named(install, monkeypatch, capsys) -> None:
    monkeypatch.setattr(install, "create", lambda *_: None)
    monkeypatch.setattr(install, "pip_install", lambda *_, **__: False)
    with pytest.raises(SystemExit) as error:
        install.bring_python("which is 3.13")
    assert "which is 3.13" in capsys.readouterr().out
    sentence = str(error.value)
    assert "PLATES_PYTHON=" in sentence
    assert "UV_PYTHON_INSTALL_MIRROR=" in sentence
    assert "\n" not in sentence


def test_a_path_that_no_environment_can_have_is_an_error(install, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"a folder without : in its path, got .*a:b"):
        install.create(tmp_path / "a:b", sys.executable)


def test_the_environment_names_the_project_relatively(install, monkeypatch, tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "site-packages"
    packages.mkdir(parents=True)
    monkeypatch.setattr(install.sysconfig, "get_path", {"purelib": str(packages)}.get)
    (packages / "plates_cameras.pth").touch()
    install.link_relatively()
    for file in packages.iterdir():
        (line,) = file.read_text().splitlines()
        assert line.isascii()
        assert (packages / line).resolve() == SCRIPT.parents[1]
    assert len([*packages.iterdir()]) == 2


@pytest.mark.parametrize("name", ["uv", "poetry-core"])
def test_a_pin_read_without_a_toml_parser_is_that_of_the_lock(install, name: str) -> None:
    (locked_package,) = [package for package in install.read_lock() if package["name"] == name]
    assert install.pin_of(name) == install.requirement(locked_package)
    assert "--hash=sha256:" in install.pin_of(name)


def test_the_cpu_builds_of_pytorch_are_those_of_the_locked_version(install) -> None:
    (locked_package,) = [package for package in install.read_lock() if package["name"] == "torch"]
    wheels = [line.split()[1] for line in install.CPU_TORCH.read_text().splitlines()[2:]]
    assert {*wheels} == {
        f"torch-{locked_package['version']}+cpu-cp3{minor}-cp3{minor}-manylinux_2_28_{machine}.whl"
        for minor in (10, 11, 12)
        for machine in ("x86_64", "aarch64")
    }
    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}\b", line) for line in [install.cpu_torch()])


def package(name: str = "a", version: str = "1", groups: tuple[str, ...] = ("main",), **more):
    return {"name": name, "version": version, "groups": list(groups), "files": [], **more}


def test_the_lock_has_what_serving_needs(install) -> None:
    serving = {package["name"] for package in install.read_lock() if "main" in package["groups"]}
    assert serving >= {"torch", "numpy", "opencv-python-headless", "nvidia-pytriton", "typer"}
    assert not serving & {"yolov5", "torchvision", "pytest"}


@pytest.mark.parametrize(
    ("groups", "marker"),
    [(["main"], ""), (["main", "dev"], ""), (["dev"], f"({ALWAYS})"), (["train"], "")],
)
def test_a_marker_is_that_of_the_groups_wanted(install, groups, marker: str) -> None:
    locked_package = package(groups=("main", "dev", "train"), markers={"dev": ALWAYS})
    assert install.marker_of(locked_package, groups) == marker


def test_packages_for_this_machine_and_the_named_extras_are_installed_with_the_closer_marker(
    install,
) -> None:
    here, elsewhere = package("here", markers=ALWAYS), package("elsewhere", markers=NEVER)
    loose, of_server = package("here", "2"), package("served", markers='extra == "server"')
    of_cameras = package("av", markers='extra == "cameras"')
    lock = [elsewhere, here, loose, of_server, of_cameras]
    assert install.choose_versions(lock, ["main"]) == [here, of_server]
    assert install.choose_versions(lock, ["main"], ("cameras",)) == [here, of_server, of_cameras]


@pytest.mark.parametrize(
    ("groups", "build", "wants_cuda"),
    [
        pytest.param(["main"], "cuda", True, id="asked for"),
        pytest.param(["main", "dev"], "cpu", False, id="refused"),
        pytest.param(["main", "train"], "cpu", True, id="torchvision needs it"),
    ],
)
def test_pytorch_is_the_build_that_was_asked_for(
    install, groups, build: str, wants_cuda: bool
) -> None:
    assert install.wants_cuda(groups, build) is wants_cuda


def test_packages_of_cuda_stay_away_from_a_cpu_machine_and_those_that_only_sound_so_do_not(
    install,
) -> None:
    assert all(map(install.CUDA_ONLY.match, ["torch", "triton", "cuda-bindings", "nvidia-cublas"]))
    others = ["torchvision", "tritonclient", "nvidia-pytriton", "numpy"]
    assert not any(map(install.CUDA_ONLY.match, others))
