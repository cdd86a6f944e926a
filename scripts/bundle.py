#!/usr/bin/env python3
"""Put all that the service needs into one archive, for a machine without a network.

usage: bundle.py [--python 3.11] [--machine aarch64] [--without torch,openvino] [--parts 60M]
                 [--to dist]

The archive holds the committed files of the project with the weights and a sample picture, the
wheels of poetry.lock that serving needs, Triton's among them, and an `install.sh`. It is for Linux
on one architecture and one version of Python. pip finds the wheels where it finds packages on this
machine and checks their SHA-256. PyTorch's CPU builds are in an index of their own:
PIP_EXTRA_INDEX_URL names that, or PIP_FIND_LINKS a folder with the wheel.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from install import (
    CPU_TORCH,
    PROJECT,
    cpu_torch,
    pin_of,
    read_lock,
    requirement,
    requirements,
    split_left_out,
)
from locked import MACHINES, list_packages

GLIBC = range(5, 36)  # Triton's wheel wants glibc 2.35; the others are content with less
TAGS = (
    *(f"manylinux_2_{minor}" for minor in reversed(GLIBC)),
    "manylinux2014",
    "manylinux1",
    "linux",
)
PYTHONS = ("3.10", "3.11", "3.12")
INSTALL = Path(__file__).resolve().with_name("bundle_install.sh")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
PARTS = {
    "PyTorch and its libraries": ("torch", "sympy", "networkx", "mpmath"),
    "OpenVINO": ("openvino",),
    "Triton": ("nvidia_pytriton",),
    "OpenCV": ("opencv_python_headless",),
    "NumPy and pandas": ("numpy", "pandas"),
}
"""Wheels whose sizes are shown by a name of their own."""


def main() -> None:
    """Make the archive, and print the sizes of what it holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", choices=PYTHONS, default="3.11")
    parser.add_argument("--machine", choices=MACHINES, default=MACHINES[0])
    parser.add_argument("--without", type=split_left_out, default=(), metavar="NAME,NAME")
    parser.add_argument("--parts", type=parse_size, metavar="SIZE")
    parser.add_argument("--to", type=Path, default=PROJECT / "dist")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    archive = options.to / archive_name(options.python, options.machine)
    with tempfile.TemporaryDirectory() as folder:
        wheels = download(Path(folder), options.python, options.machine, options.without)
        project = archive_project()
        script = install_script(options.python, options.machine, options.without)
        write(archive, project, wheels, script)
    show_sizes(wheels, len(project), archive)
    for part in split(archive, options.parts) if options.parts else (archive,):
        print(f"{hash_file(part)}  {part}")


def parse_size(text: str) -> int:
    """Return the bytes of a size such as `60M`."""
    match = re.fullmatch(r"([1-9]\d*)([KMG]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"wanted a size such as 60M, got {text!r}")
    return int(match[1]) * UNITS.get(match[2], 1)


def folder_name() -> str:
    """Return the name of the folder in the archive, with the project's version."""
    match = re.search(r'^version = "(.+)"', (PROJECT / "pyproject.toml").read_text(), re.MULTILINE)
    assert match, "pyproject.toml has no version"
    return f"plates-{match[1]}"


def archive_name(python: str, machine: str) -> str:
    """Return the name of the archive; x86-64, the usual architecture, is not named."""
    architecture = "" if machine == MACHINES[0] else f"-{machine}"
    return f"{folder_name()}-py{python.replace('.', '')}{architecture}.tar"


def choose_pins(python: str, machine: str, without: tuple[str, ...]) -> list[str]:
    """Return the packages of a machine that serves, each with its hashes."""
    packages = list_packages(read_lock(), "cpu", python, machine)
    left_out = {"torch", *without}
    pins = [requirement(package) for package in packages if package["name"] not in left_out]
    return [*pins, pin_of("poetry-core"), *(() if "torch" in without else (cpu_torch(),))]


def download(folder: Path, python: str, machine: str, without: tuple[str, ...]) -> dict[str, int]:
    """Fetch the wheels into a folder; return their paths and sizes."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    target = ["--only-binary=:all:", "--no-deps", "--require-hashes", f"--python-version={python}"]
    tags = [f"--platform={tag}_{machine}" for tag in TAGS]
    with requirements(choose_pins(python, machine, without)) as file:
        command = [*pip, *target, *tags, "-d", str(folder), "-r", file]
        if subprocess.run(command, check=False).returncode:
            sys.exit(
                "bundle: wanted every wheel, got the error above. For PyTorch's CPU build name its "
                f"index in PIP_EXTRA_INDEX_URL, put the wheel ({CPU_TORCH.name} has the names) "
                "into a folder that PIP_FIND_LINKS names, or leave it out: --without torch"
            )
    return {str(path): path.stat().st_size for path in sorted(folder.iterdir())}


def archive_project() -> bytes:
    """Return the committed files of the project as a tar archive."""
    command = ["git", "-C", str(PROJECT), "archive", f"--prefix={folder_name()}/", "HEAD"]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if result.returncode:
        sys.exit("bundle: wanted a Git checkout of the project, got the error above")
    return result.stdout


def install_script(python: str, machine: str, without: tuple[str, ...]) -> str:
    """Return the script that installs from the unpacked archive."""
    words = f"--without {','.join(without)}" if without else ""
    script = INSTALL.read_text().replace("@PYTHON@", python).replace("@MACHINE@", machine)
    return script.replace("@OPTIONS@", words)


def write(archive: Path, project: bytes, wheels: dict[str, int], script: str) -> None:
    """Write the archive: the project's files, the script and the wheels."""
    top = folder_name()
    with tarfile.open(fileobj=io.BytesIO(project)) as files, tarfile.open(archive, "w") as target:
        for file in files:
            target.addfile(file, files.extractfile(file) if file.isreg() else None)
        entry = tarfile.TarInfo(f"{top}/install.sh")
        entry.mode, entry.size = 0o755, len(script.encode())
        target.addfile(entry, io.BytesIO(script.encode()))
        for wheel in wheels:
            target.add(wheel, f"{top}/wheels/{Path(wheel).name}")


def show_sizes(wheels: dict[str, int], project: int, archive: Path) -> None:
    """Print how large each part is, the largest first."""
    part_of_package = {name: part for part, names in PARTS.items() for name in names}
    sizes = {"the project and its weights": project}
    for wheel, size in wheels.items():
        part = part_of_package.get(Path(wheel).name.split("-")[0], "other wheels")
        sizes[part] = sizes.get(part, 0) + size
    for part, size in sorted(sizes.items(), key=lambda part_and_size: -part_and_size[1]):
        print(f"{size / (1 << 20):8.1f} MiB  {part}")
    print(f"{archive.stat().st_size / (1 << 20):8.1f} MiB  in all")


def split(archive: Path, size: int) -> list[Path]:
    """Replace an archive by numbered parts of at most a size, which `cat` joins again."""
    parts = []
    with archive.open("rb") as whole:
        while piece := whole.read(size):
            parts.append(archive.with_name(f"{archive.name}.{len(parts):03d}"))
            parts[-1].write_bytes(piece)
    archive.unlink()
    return parts


def hash_file(path: Path) -> str:
    """Return a file's SHA-256."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


if __name__ == "__main__":
    main()
