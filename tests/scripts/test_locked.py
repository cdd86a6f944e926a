"""What SBOM and audit are told that an image holds."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "locked.py"
OLD, NEW = 'python_version < "3.12"', 'python_version >= "3.12"'


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    return importlib.import_module("locked")


def package(name: str, *, groups: tuple[str, ...] = ("main",), markers: object = "") -> dict:
    """An entry of a poetry.lock."""
    files = [{"hash": "sha256:00"}]
    return {
        "name": name, "version": "1", "groups": list(groups), "markers": markers, "files": files
    }  # fmt: skip


def names(packages: list[dict]) -> list[str]:
    return [package["name"] for package in packages]


def test_packages_of_the_extra_are_held_sorted_and_other_groups_are_left_out(
    locked: ModuleType,
) -> None:
    lock = [package("b"), package("pytest", groups=("dev",)), package("a", groups=("dev", "main"))]
    lock += [package("s", markers='extra == "server"'), package("x", markers='extra == "x"')]
    assert names(locked.list_packages(lock, "cpu")) == ["a", "b", "s"]
    assert locked.list_packages([], "cpu") == []


@pytest.mark.parametrize(
    ("image", "package_names"),
    [
        pytest.param("cpu", ["nvidia-pytriton", "openvino", "torch"], id="cpu"),
        pytest.param("gpu", ["nvidia-cublas", "torch", "triton"], id="gpu"),
    ],
)
def test_an_image_holds_what_its_device_needs(
    locked: ModuleType, image: str, package_names: list[str]
) -> None:
    lock = [*map(package, ("triton", "torch", "openvino", "nvidia-pytriton", "nvidia-cublas"))]
    assert names(locked.list_packages(lock, image)) == package_names


@pytest.mark.parametrize(
    ("image", "package_names"),
    [pytest.param("cpu", ["old"], id="3.11"), pytest.param("gpu", ["new"], id="3.12")],
)
def test_markers_are_judged_by_the_image_and_not_by_this_python(
    locked: ModuleType, image: str, package_names: list[str]
) -> None:
    lock = [
        package("old", markers=OLD),
        package("new", markers=NEW),
        package("w", markers='sys_platform == "win32"'),
    ]
    assert names(locked.list_packages(lock, image)) == package_names


def test_of_two_versions_that_with_the_closer_marker_is_held(locked: ModuleType) -> None:
    close = {**package("numpy", markers='sys_platform == "linux"'), "version": "2"}
    assert locked.list_packages([close, package("numpy")], "cpu") == [close]


def test_each_line_pins_a_version_and_its_files() -> None:
    result = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    lines = result.stdout.splitlines()
    assert re.fullmatch(
        r"torch==2\S+( --hash=sha256:\w{64})+", *[x for x in lines if x.startswith("torch==")]
    )
    assert all(" --hash=sha256:" in line for line in lines)


def test_an_image_that_there_is_not_is_refused() -> None:
    result = subprocess.run(
        [sys.executable, SCRIPT, "tpu"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stderr == "locked: wanted cpu or gpu, got tpu\n"
