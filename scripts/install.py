#!/usr/bin/env python3
"""Set up `.venv` from poetry.lock, without Poetry; standard library only.

usage: install.py [--group dev] [--group train] [--venv .venv] [--torch cpu|cuda]

PyTorch comes first: the CPU build unless there is an NVIDIA GPU, because the CUDA build brings 3 GB
that a laptop has no use for; `--torch` says which when the machine that installs is not the one
that runs. Everything else is the locked file, checked against its SHA-256.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = (3, 10), (3, 13)
CUDA_ONLY = re.compile(r"^(torch$|triton$|cuda-|nvidia-(?!pytriton))")
UNWANTED = {"openvino-telemetry"}  # would report every import of openvino, which works without
UV = "uv>=0.8,<1"  # knows where PyTorch keeps its CPU builds


def main() -> None:
    """Create the environment, then go on inside it, where pip's TOML parser is at hand."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--group", action="append", default=[], choices=["dev", "train"])
    parser.add_argument("--venv", type=Path, default=PROJECT / ".venv")
    parser.add_argument("--torch", choices=["cpu", "cuda"])
    given = parser.parse_args()
    venv = given.venv.resolve()
    if Path(sys.prefix).resolve() != venv:
        check_python()
        if not (venv / "bin" / "pip").exists():
            create(venv)
        os.execv(venv / "bin" / "python", [str(venv / "bin" / "python"), *sys.argv])
    install(["main", *given.group], given.torch)
    print(f"installed in {venv}")


def check_python() -> None:
    """Stop with one sentence where this Python cannot run the server."""
    version = sys.version_info[:2]
    if not OLDEST <= version <= NEWEST:
        sys.exit(f"install: wanted Python 3.10 to 3.13, got {version[0]}.{version[1]}")
    library = f"libpython{version[0]}.{version[1]}.so.1.0"
    if not Path(sysconfig.get_config_var("LIBDIR"), library).is_file():
        sys.exit(
            f"install: wanted a Python with {library}, got {sys.executable} without; on Debian and "
            f"Ubuntu: apt install libpython{version[0]}.{version[1]}"
        )


def create(venv: Path) -> None:
    """Make an empty environment."""
    done = subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=False)
    if done.returncode:
        sys.exit("install: wanted Python's venv; on Debian and Ubuntu: apt install python3-venv")


def install(groups: list[str], build: str | None) -> None:
    """Install PyTorch, the locked packages of the groups, and the project itself."""
    locked = read_lock()
    torch = next(package for package in locked if package["name"] == "torch")
    on_cpu = not wants_cuda(groups, build) and install_cpu_torch(torch["version"])
    wanted = [
        package
        for package in locked
        if set(package["groups"]) & set(groups)
        and package["name"] not in UNWANTED
        and not (on_cpu and CUDA_ONLY.match(package["name"]))
    ]
    lines = [requirement(package) for package in one_version_each(wanted, groups)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(lines))
        file.flush()
        pip("install", "--no-deps", "--require-hashes", "-r", file.name)
    pip("install", "--no-deps", "--editable", str(PROJECT))


def read_lock() -> list[dict]:
    """Return the packages of poetry.lock."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        from pip._vendor import tomli as tomllib
    return tomllib.loads((PROJECT / "poetry.lock").read_text())["package"]


def one_version_each(packages: list[dict], groups: list[str]) -> list[dict]:
    """Drop what this machine does not need; of two versions keep the one with the closer marker.

    Poetry locks a package twice when a dependency pins it on some platforms only; on these the
    marker of the unpinned version holds as well.
    """
    from pip._vendor.packaging.markers import Marker

    chosen: dict[str, dict] = {}
    for package in sorted(packages, key=lambda package: len(marker_of(package, groups))):
        marker = marker_of(package, groups)
        if not marker or Marker(marker).evaluate():
            chosen[package["name"]] = package
    return list(chosen.values())


def marker_of(package: dict, groups: list[str]) -> str:
    """Return the condition under which the groups need a package, `""` for always."""
    marker = package.get("markers", "")
    if isinstance(marker, str):
        return marker
    mine = [group for group in package["groups"] if group in groups]
    if any(group not in marker for group in mine):
        return ""
    return " or ".join(f"({marker[group]})" for group in mine)


def requirement(package: dict) -> str:
    """Return a locked package as a line of a requirements file."""
    hashes = (f"--hash={file['hash']}" for file in package["files"])
    return " ".join([f"{package['name']}=={package['version']}", *hashes])


def wants_cuda(groups: list[str], build: str | None) -> bool:
    """Tell whether PyTorch shall be the CUDA build: the only one that torchvision exists for."""
    return build == "cuda" or "train" in groups or (build is None and has_gpu())


def has_gpu() -> bool:
    """Tell whether there is an NVIDIA GPU with a driver."""
    smi = shutil.which("nvidia-smi")
    return bool(smi) and subprocess.run([smi, "-L"], capture_output=True).returncode == 0


def install_cpu_torch(version: str) -> bool:
    """Install the CPU build of PyTorch; False where none is within reach."""
    pinned = f"torch=={version}"
    # A wheel of your own, in a folder that PIP_FIND_LINKS names, comes first.
    if pip("install", "--quiet", "--no-deps", "--no-index", pinned, check=False):
        return True
    pip("install", "--quiet", UV)
    if uv("pip", "install", "--no-deps", "--torch-backend=cpu", pinned):
        return True
    print("install: no CPU build of PyTorch within reach; taking the CUDA build (3 GB)")
    return False


def pip(*arguments: str, check: bool = True) -> bool:
    """Run pip in this environment; tell whether it succeeded."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=not check, check=False)
    if check and done.returncode:
        sys.exit(f"install: {' '.join(arguments[:1])} failed, see above")
    return done.returncode == 0


def uv(*arguments: str) -> bool:
    """Run uv on this environment; tell whether it succeeded."""
    command = [sys.executable, "-m", "uv", *arguments, "--python", sys.executable]
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    main()
