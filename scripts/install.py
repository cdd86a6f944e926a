#!/usr/bin/env python3
"""Set up `.venv` from poetry.lock, without Poetry; standard library only, Python 3.9 or newer.

usage: install.py [--group dev|docs|workshop|examples|audit|fuzz|train] ... [--venv .venv]
                  [--extras cameras,s3] [--torch cpu|cuda] [--without torch,openvino]

The server needs Python 3.10 to 3.12 with its shared library, on ARM64 3.11 or 3.12. `.venv` gets
the first of these:
PLATES_PYTHON, this one, python3.12, 3.11 and 3.10 of the PATH, or what uv puts in `.venv-python`.

PyTorch is installed first. It is the CPU build unless there is an NVIDIA GPU: the CUDA build has
3 GB, which a laptop does not need. `--torch` chooses the build when another machine will run it.
`--without torch` takes the PyTorch that this Python has already. OpenVINO runs networks on CPUs
alone, and nvidia-pytriton is not needed beside another Triton.
Everything installed is checked against its SHA-256. The hashes are in poetry.lock. Those of
PyTorch's CPU builds are in torch-cpu.sha256 beside this file, and uv has those of a Python.
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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
LOCK = PROJECT / "poetry.lock"
CPU_TORCH = Path(__file__).resolve().with_name("torch-cpu.sha256")
OLDEST_HERE = (3, 9)  # the oldest Python that runs this script
# Pythons that the server's workers are built for. On ARM64, gevent has no wheel for 3.10.
OLDEST, NEWEST = (3, 10 if os.uname().machine == "x86_64" else 11), (3, 12)
BROUGHT = "3.11"  # the Python that every test runs with
WANTED = f"Python 3.{OLDEST[1]} to 3.12 with its shared library"
CUDA_ONLY = re.compile(r"^(torch$|triton$|cuda-|nvidia-(?!pytriton|nvimgcodec))")
GROUPS = (
    "dev",
    "docs",
    "workshop",
    "examples",
    "audit",
    "fuzz",
    "train",
    "cameras",
    "gates",
    "excel",
    "notify",
    "s3",
)
UNWANTED = {"openvino-telemetry"}  # reports every import of openvino; not needed
NAME = "plates-orchestrator"  # the project's own package, as in pyproject.toml
NAME_OF_CAMERAS = "plates-cameras"
FORMER_NAME = "orchestrator"  # its name before version 1.0
LEFT_OUT = ("nvidia-pytriton", "openvino", "torch")  # packages that may be left out
SERVER = "server"  # the extra that is always installed
EXTRAS = ("archive", "async", "gpu-decoding", "heic", "parquet")
CAMERAS = PROJECT / "plate_cameras"  # the second package of this repository
OF_CAMERAS = (
    "cameras",
    "gates",
    "excel",
    "notify",
    "s3",
)  # the groups that it needs; --extras names them, too

DESCRIBE = """
import sys, sysconfig
from os.path import isfile, join
version = "%d.%d" % sys.version_info[:2]
folders = (sysconfig.get_config_var("LIBDIR") or "", join(sys.base_prefix, "lib"))
print(version, any(isfile(join(folder, "libpython%s.so.1.0" % version)) for folder in folders))
"""
"""Prints a Python's version and whether it has its shared library."""


def main() -> None:
    """Create the environment, then continue inside it, where pip's TOML parser is available."""
    if sys.version_info < OLDEST_HERE:
        sys.exit("install: wanted Python 3.9 or newer to begin with, got " + sys.version.split()[0])
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--group", action="append", choices=GROUPS)
    parser.add_argument("--extras", type=split_extras, default=(), metavar="NAME,NAME")
    parser.add_argument("--venv", type=Path, default=PROJECT / ".venv")
    parser.add_argument("--torch", choices=["cpu", "cuda"])
    parser.add_argument("--without", type=split_left_out, default=(), metavar="NAME,NAME")
    options = parser.parse_args()
    venv = options.venv.resolve()
    if Path(sys.prefix).resolve() != venv:
        python = venv / "bin" / "python"
        if fault_of(python) or not (venv / "bin" / "pip").exists():
            create(venv, choose_python(), sees_packages="torch" in options.without)
        os.execv(python, [str(python), *sys.argv])
    if "torch" in options.without:
        show_own_torch()
    groups = [*(options.group or ()), *(name for name in options.extras if name in OF_CAMERAS)]
    extras = tuple(name for name in options.extras if name in EXTRAS)
    install(["main", *groups], options.torch, extras, without=options.without)
    print(f"installed in {venv}")


def split_extras(text: str) -> tuple[str, ...]:
    """Return the extras that an option names, separated by commas."""
    return split_names(text, EXTRAS + OF_CAMERAS)


def split_left_out(text: str) -> tuple[str, ...]:
    """Return the packages that an option leaves out, separated by commas."""
    return split_names(text, LEFT_OUT)


def split_names(text: str, allowed_names: tuple[str, ...]) -> tuple[str, ...]:
    """Return known names that are separated by commas."""
    names = tuple(filter(None, text.split(",")))
    for name in names:
        if name not in allowed_names:
            raise argparse.ArgumentTypeError(
                f"wanted some of {', '.join(allowed_names)}, got {name!r}"
            )
    return names


def show_own_torch() -> None:
    """Print the version of the PyTorch that this Python has already."""
    from importlib import metadata

    try:
        print(f"install: PyTorch {metadata.version('torch')} is there already", flush=True)
    except metadata.PackageNotFoundError:
        sys.exit(
            f"install: wanted PyTorch among the packages of {sys.base_prefix}, got none; "
            "PLATES_PYTHON names a Python that has it, and .venv must be removed before"
        )


def choose_python() -> str:
    """Return a Python that can run the server; fetch one if there is none."""
    python_of_variable = os.environ.get("PLATES_PYTHON")
    if python_of_variable:
        fault = fault_of(python_of_variable)
        if fault:
            sys.exit(f"install: PLATES_PYTHON: wanted {WANTED}, got {python_of_variable}, {fault}")
        return python_of_variable
    faults = {}
    for python in (sys.executable, "python3.12", "python3.11", "python3.10"):
        faults[python] = fault_of(python)
        if not faults[python]:
            return python
    return bring_python(faults[sys.executable])


def fault_of(python: str | Path) -> str:
    """Return the reason why a Python cannot run the server, `""` when it can."""
    command = [str(python), "-c", DESCRIBE]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"which does not run ({error.strerror})"
    if result.returncode:
        return "which does not run"
    version, has_library = result.stdout.split()
    if not OLDEST <= tuple(map(int, version.split("."))) <= NEWEST:
        return f"which is {version}"
    if has_library != "True":
        return (
            f"which is without libpython{version}.so.1.0 "
            f"(on Debian and Ubuntu: apt install libpython{version})"
        )
    return ""


def bring_python(fault: str) -> str:
    """Let uv fetch a Python into `.venv-python`; return its path."""
    target = PROJECT / ".venv-python"
    print(
        f"install: wanted {WANTED}, got {sys.executable}, {fault}.\n"
        f"install: fetching uv, and with it Python {BROUGHT} (30 MB) into {target}",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        create(Path(folder), sys.executable)
        python = str(Path(folder, "bin", "python"))
        if not pip_install(pins=[pin_of("uv")], python=python):
            sys.exit(no_python("uv could not be installed, see above"))
        variables = {**os.environ, "UV_PYTHON_INSTALL_DIR": str(target)}
        for words in (["install", "--no-bin"], ["find", "--managed-python"]):
            command = [python, "-m", "uv", "python", *words, BROUGHT]
            result = subprocess.run(
                command, env=variables, capture_output=True, text=True, check=False
            )
            if result.returncode:
                sys.exit(no_python(" ".join(result.stderr.rpartition("cause: ")[2].split())))
    return result.stdout.strip()


def no_python(reason: str) -> str:
    """Say what to do when no Python can be fetched."""
    return (
        f"install: wanted {WANTED}, found none and could not fetch one; either install one and "
        "name it, PLATES_PYTHON=/path/to/python3.11, or name a mirror that uv can reach, "
        f"UV_PYTHON_INSTALL_MIRROR=URL ({reason})"
    )


def create(venv: Path, python: str, *, sees_packages: bool = False) -> None:
    """Make an empty environment, which may also see the packages of its Python."""
    if os.pathsep in str(venv):
        sys.exit(f"install: wanted a folder without {os.pathsep} in its path, got {venv}")
    options = ["--clear", *(["--system-site-packages"] if sees_packages else ())]
    result = subprocess.run([python, "-m", "venv", *options, str(venv)], check=False)
    if result.returncode:
        sys.exit("install: wanted Python's venv; on Debian and Ubuntu: apt install python3-venv")


def install(
    groups: list[str],
    build: str | None,
    extras: tuple[str, ...] = (),
    *,
    without: tuple[str, ...] = (),
) -> None:
    """Install PyTorch, the locked packages of groups and extras, and the project itself."""
    packages = read_lock()
    left_out = UNWANTED.union(without)
    on_cpu = "torch" in without or (not wants_cuda(groups, build) and install_cpu_torch())
    needed_packages = [
        package
        for package in packages
        if set(package["groups"]) & set(groups)
        and package["name"] not in left_out
        and not (on_cpu and CUDA_ONLY.match(package["name"]))
    ]
    pins = [requirement(package) for package in choose_versions(needed_packages, groups, extras)]
    pins.append(pin_of("poetry-core"))  # builds the project's own package
    print(f"install: {len(pins)} packages of poetry.lock", flush=True)
    if not pip_install(pins=pins):
        sys.exit("install: the packages of poetry.lock could not be installed; is there a network?")
    remove_former()
    install_projects([PROJECT, *([CAMERAS] if {"dev", *OF_CAMERAS} & {*groups} else ())])


def install_projects(folders: list[Path]) -> None:
    """Install packages of this repository so that changes of their code hold at once."""
    editables = [part for folder in folders for part in ("--editable", str(folder))]
    if not pip_install("--no-build-isolation", *editables):
        sys.exit("install: the project itself could not be installed, see above")
    link_relatively()


def remove_former() -> None:
    """Remove the project's package under its former name, which has the same commands."""
    from importlib import metadata

    with suppress(metadata.PackageNotFoundError):
        metadata.version(FORMER_NAME)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "uninstall", "--quiet", "--yes", FORMER_NAME], check=True)


def link_relatively() -> None:
    """Let the environment name the project by a relative path.

    If the locale is C, Python 3.11 and 3.12 read such a file as ASCII. They then fail to start if a
    path in it is not ASCII.
    """
    packages = Path(sysconfig.get_path("purelib"))
    for name in (NAME, NAME_OF_CAMERAS):
        link = packages / f"{name.replace('-', '_')}.pth"
        if name == NAME or link.exists():
            link.write_text(os.path.relpath(PROJECT, packages) + "\n")


def read_lock() -> list[dict]:
    """Return the packages of poetry.lock."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        from pip._vendor import tomli as tomllib
    return tomllib.loads(LOCK.read_text())["package"]


def pin_of(name: str) -> str:
    """Return one package of poetry.lock in the form of `requirement`, without a TOML parser."""
    entry = re.search(
        rf'^name = "{name}"\nversion = "(.+)"\n(?:.+\n)*?files = \[\n((?:    .+\n)*)\]',
        LOCK.read_text(),
        re.MULTILINE,
    )
    assert entry, f"{name} is not in {LOCK.name}"
    files = [{"hash": digest} for digest in re.findall(r'hash = "(.+?)"', entry[2])]
    return requirement({"name": name, "version": entry[1], "files": files})


def choose_versions(
    packages: list[dict], groups: list[str], extras: tuple[str, ...] = ()
) -> list[dict]:
    """Drop packages that this machine does not need; of two versions keep the closer marker's.

    Poetry locks a package twice when a dependency pins it only on some platforms. On these
    platforms, the marker of the unpinned version holds as well.
    """
    from pip._vendor.packaging.markers import Marker

    packages_by_name: dict[str, dict] = {}
    for package in sorted(packages, key=lambda package: len(marker_of(package, groups))):
        marker = marker_of(package, groups)
        extra_markers = [{"extra": name} for name in (SERVER, *extras)]
        if not marker or any(map(Marker(marker).evaluate, extra_markers)):
            packages_by_name[package["name"]] = package
    return list(packages_by_name.values())


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
    """Tell whether PyTorch shall be the CUDA build, the only one for which torchvision exists."""
    return build == "cuda" or "train" in groups or (build is None and has_gpu())


def has_gpu() -> bool:
    """Tell whether there is an NVIDIA GPU with a driver."""
    smi = shutil.which("nvidia-smi")
    return bool(smi) and subprocess.run([smi, "-L"], capture_output=True).returncode == 0


def cpu_torch() -> str:
    """Return the CPU build of PyTorch as a line of a requirements file."""
    lines = [line.split() for line in CPU_TORCH.read_text().splitlines() if line[:1] != "#"]
    version = lines[0][1].split("-")[1]  # from the name of a wheel
    files = [{"hash": f"sha256:{digest}"} for digest, _ in lines]
    return requirement({"name": "torch", "version": version, "files": files})


def install_cpu_torch() -> bool:
    """Install the CPU build of PyTorch; return False if none can be reached."""
    print("install: the CPU build of PyTorch (190 MB)", flush=True)
    # A local wheel, in a folder that PIP_FIND_LINKS names, comes first.
    if pip_install("--no-index", pins=[cpu_torch()], stderr=subprocess.DEVNULL):
        return True
    # uv knows where PyTorch keeps its CPU builds.
    if pip_install(pins=[pin_of("uv")]):
        with requirements([cpu_torch()]) as file:
            uv = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable]
            command = [*uv, "--no-deps", "--require-hashes", "--torch-backend=cpu", "-r", file]
            if subprocess.run(command, check=False).returncode == 0:
                return True
    print("install: no CPU build of PyTorch within reach; taking the CUDA build (3 GB)", flush=True)
    return False


def pip_install(
    *arguments: str,
    pins: list[str] | None = None,
    python: str = sys.executable,
    stderr: int | None = None,
) -> bool:
    """Install packages, pins by their hashes, and no dependencies; tell whether it succeeded."""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    with requirements(pins or []) as file:
        command = [*pip, *arguments, *(["--require-hashes", "-r", file] if pins else ())]
        return subprocess.run(command, stderr=stderr, check=False).returncode == 0


@contextmanager
def requirements(pins: list[str]) -> Iterator[str]:
    """Give the name of a requirements file that has these pins."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(pins))
        file.flush()
        yield file.name


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("install: interrupted; the next run goes on", file=sys.stderr)
        sys.exit(130)
