"""The installer's reading of poetry.lock."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "install.py"
ALWAYS, NEVER = 'python_version >= "3"', 'python_version < "3"'


@pytest.fixture(scope="module")
def install() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(SCRIPT)))


def package(name: str = "a", version: str = "1", groups: tuple[str, ...] = ("main",), **more):
    return {"name": name, "version": version, "groups": list(groups), "files": [], **more}


def test_the_lock_has_what_serving_needs(install) -> None:
    serving = {p["name"] for p in install.read_lock() if "main" in p["groups"]}
    assert serving >= {"torch", "numpy", "opencv-python-headless", "nvidia-pytriton", "typer"}
    assert not serving & {"yolov5", "torchvision", "pytest"}


def test_every_locked_file_has_a_hash(install) -> None:
    files = [file for package in install.read_lock() for file in package["files"]]
    assert all(file["hash"].startswith("sha256:") for file in files)


def test_a_requirement_is_pinned_and_hashed(install) -> None:
    line = install.requirement(package(files=[{"hash": "sha256:1"}, {"hash": "sha256:2"}]))
    assert line == "a==1 --hash=sha256:1 --hash=sha256:2"


@pytest.mark.parametrize(
    ("groups", "marker"),
    [(["main"], ""), (["main", "dev"], ""), (["dev"], f"({ALWAYS})"), (["train"], "")],
)
def test_a_marker_is_that_of_the_groups_wanted(install, groups, marker: str) -> None:
    given = package(groups=("main", "dev", "train"), markers={"dev": ALWAYS})
    assert install.marker_of(given, groups) == marker


def test_packages_for_other_machines_are_left_out(install) -> None:
    here, elsewhere = package("here", markers=ALWAYS), package("elsewhere", markers=NEVER)
    assert install.one_version_each([elsewhere, here], ["main"]) == [here]


def test_of_two_versions_the_closer_marker_wins(install) -> None:
    loose, close = package(version="2"), package(version="1", markers=ALWAYS)
    assert install.one_version_each([close, loose], ["main"]) == [close]


@pytest.mark.parametrize(
    ("groups", "build", "wanted"),
    [
        pytest.param(["main"], "cuda", True, id="asked for"),
        pytest.param(["main", "dev"], "cpu", False, id="refused"),
        pytest.param(["main", "train"], "cpu", True, id="torchvision needs it"),
    ],
)
def test_pytorch_is_the_build_that_was_asked_for(install, groups, build: str, wanted: bool) -> None:
    assert install.wants_cuda(groups, build) is wanted


@pytest.mark.parametrize("name", ["torch", "triton", "cuda-bindings", "nvidia-cublas"])
def test_packages_of_cuda_stay_away_from_a_cpu_machine(install, name: str) -> None:
    assert install.CUDA_ONLY.match(name)


@pytest.mark.parametrize("name", ["torchvision", "tritonclient", "nvidia-pytriton", "numpy"])
def test_packages_that_only_sound_like_cuda_are_installed(install, name: str) -> None:
    assert not install.CUDA_ONLY.match(name)
