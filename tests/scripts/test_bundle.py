"""The archive for machines without a network: what goes into it, and its installation."""

import argparse
import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.samples import PROJECT

SCRIPT = PROJECT / "scripts" / "bundle.py"
MADE = os.environ.get("PLATES_BUNDLE", "")
"""An archive that `make bundle` has made on this machine."""
MACHINE = platform.machine()
REHEARSE = """
set -e
ip link set lo up
./install.sh
.venv/bin/plates recognize tests/data/street.jpg --jsonl plates.jsonl
"""


@pytest.fixture
def bundle(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    return importlib.import_module("bundle")


def names(pins: list[str]) -> set[str]:
    return {pin.partition("==")[0] for pin in pins}


@pytest.mark.parametrize(("text", "size"), [("60M", 60 << 20), ("1G", 1 << 30), ("1000", 1000)])
def test_a_size_has_a_unit_or_is_in_bytes(bundle, text: str, size: int) -> None:
    assert bundle.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0M", "60 M", "M", "-1", "60MB"])
def test_what_is_no_size_is_told(bundle, text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"wanted a size such as 60M, got"):
        bundle.parse_size(text)


def test_what_serving_needs_is_in_the_archive(bundle) -> None:
    pins = bundle.choose_pins("3.11", "x86_64", ())
    assert names(pins) >= {"torch", "openvino", "nvidia-pytriton", "poetry-core", "starlette"}
    assert not names(pins) & {"pytest", "yolov5", "nvidia-cublas", "matplotlib"}
    assert all("--hash=sha256:" in pin for pin in pins)


def test_the_build_of_pytorch_is_that_for_cpus(bundle) -> None:
    (torch,) = [
        pin for pin in bundle.choose_pins("3.12", "aarch64", ()) if pin.startswith("torch==")
    ]
    assert "+cpu " in torch


def test_packages_are_left_out_on_demand(bundle) -> None:
    package_names = names(bundle.choose_pins("3.11", "x86_64", ()))
    package_names -= names(bundle.choose_pins("3.11", "x86_64", ("torch", "openvino")))
    assert package_names == {"torch", "openvino"}


def test_packages_are_those_of_the_wanted_python(bundle, monkeypatch) -> None:
    for_old = {"name": "old", "version": "1", "groups": ["main"], "files": [{"hash": "sha256:0"}]}
    for_old["markers"] = 'python_version < "3.11"'
    monkeypatch.setattr(bundle, "read_lock", lambda: [for_old])
    assert "old" in names(bundle.choose_pins("3.10", "x86_64", ()))
    assert "old" not in names(bundle.choose_pins("3.11", "x86_64", ()))


def test_parts_joined_are_the_archive(bundle, tmp_path: Path) -> None:
    archive = tmp_path / "plates.tar"
    archive.write_bytes(bytes(range(25)))
    parts = bundle.split(archive, 10)
    assert [part.name for part in parts] == ["plates.tar.000", "plates.tar.001", "plates.tar.002"]
    assert [part.stat().st_size for part in parts] == [10, 10, 5]
    assert b"".join(part.read_bytes() for part in parts) == bytes(range(25))
    assert not archive.exists()


def test_the_archive_has_files_wheels_and_the_script(bundle, tmp_path: Path) -> None:
    wheel = tmp_path / "torch-1-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    archive = tmp_path / "plates.tar"
    script = bundle.install_script("3.12", MACHINE, ("torch",))
    bundle.write(archive, bundle.archive_project(), {str(wheel): 5}, script)
    with tarfile.open(archive) as archive_file:
        top = bundle.folder_name()
        names_in_archive = {name.removeprefix(f"{top}/") for name in archive_file.getnames()}
        mode = archive_file.getmember(f"{top}/install.sh").mode
    assert mode == 0o755
    assert names_in_archive >= {
        "install.sh",
        "wheels/torch-1-py3-none-any.whl",
        "poetry.lock",
        "weights/yolo.pt",
        "tests/data/street.jpg",
        "scripts/install.py",
        "orchestrator/pipeline.py",
    }


@pytest.mark.parametrize(
    ("without", "options"),
    [
        pytest.param((), "--torch cpu ", id="everything"),
        pytest.param(("torch", "openvino"), "--torch cpu --without torch,openvino", id="less"),
    ],
)
def test_the_script_installs_what_the_archive_has(bundle, without, options: str) -> None:
    script = bundle.install_script("3.12", "x86_64", without)
    assert re.search(r"scripts/install.py (.*)", script)[1] == options
    assert "@" not in script


@pytest.mark.parametrize(
    ("python", "machine", "message"),
    [
        ("#!/bin/sh\necho 3.9\n", MACHINE, "wanted Python 3.12, got 3.9 from"),
        ("", MACHINE, "wanted Python 3.12, got none from "),
        ("", "armv7l", f"wanted a machine of the architecture armv7l, got {MACHINE};"),
    ],
    ids=["another-python", "no-python", "another-architecture"],
)
def test_a_machine_without_what_the_archive_is_for_is_told(
    bundle, tmp_path: Path, python: str, machine: str, message: str
) -> None:
    script, program = tmp_path / "install.sh", tmp_path / "python"
    script.write_text(bundle.install_script("3.12", machine, ()))
    if python:
        program.write_text(python)
        program.chmod(0o755)
    variables = {"PLATES_PYTHON": str(program), "PATH": os.environ["PATH"]}
    result = subprocess.run(
        ["sh", script], env=variables, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert message in result.stderr


def test_an_archive_for_another_architecture_has_its_name(bundle) -> None:
    x86, arm = (bundle.archive_name("3.11", machine) for machine in ("x86_64", "aarch64"))
    assert x86.endswith("-py311.tar")
    assert arm.endswith("-py311-aarch64.tar")


@pytest.mark.server
@pytest.mark.skipif(not MADE, reason="PLATES_BUNDLE names no archive of `make bundle`")
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="wanted root and iproute2")
def test_an_archive_installs_and_serves_without_a_network(tmp_path: Path) -> None:
    with tarfile.open(MADE) as archive:
        archive.extractall(tmp_path, filter="tar")
    (folder,) = tmp_path.iterdir()
    variables = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(tmp_path)}
    variables["PLATES_PYTHON"] = sys.executable
    command = ["unshare", "--net", "sh", "-c", REHEARSE]
    subprocess.run(command, cwd=folder, env=variables, check=True, timeout=540)
    assert "A123BC77" in (folder / "plates.jsonl").read_text()
