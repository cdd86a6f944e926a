"""The cpu image, built without an engine: debootstrap makes the base, buildah runs each step."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
DOCKERFILE = PROJECT / "Dockerfile"
SUITE, PACKAGES = "bookworm", "python3,python3-venv,libpython3.11,ca-certificates"
BASE, IMAGE = "localhost/plates-base:check", "localhost/plates:check-cpu"


class CheckError(Exception):
    """What is wrong with the image, or missing on this machine."""


@dataclass(frozen=True)
class Image:
    """A built image.

    Attributes:
        root: Its files.
        config: User, Env, Entrypoint, Cmd, Healthcheck, ...
        layers: What made each layer, and its size in bytes.
    """

    root: Path
    config: dict[str, Any]
    layers: list[tuple[str, int]]


class Buildah:
    """buildah with a storage of its own."""

    def __init__(self, work: Path, driver: str) -> None:
        self.work = work
        self._command = ["buildah", "--storage-driver", driver]
        self._command += ["--root", str(work / "storage"), "--runroot", str(work / "run")]
        work.mkdir(parents=True, exist_ok=True)

    def __call__(self, *arguments: object) -> str:
        command = [*self._command, *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise CheckError(f"wanted buildah {arguments[0]} to succeed, got the error above")
        return done.stdout.strip()

    def has(self, name: str) -> bool:
        return name in self("images", "--format", "{{.Name}}:{{.Tag}}").splitlines()

    @contextmanager
    def mounted(self, name: str) -> Iterator[Image]:
        """Give an image's files for as long as they are needed."""
        about = json.loads(self("inspect", "--type", "image", name))
        sizes = [layer["size"] for layer in json.loads(about["Manifest"])["layers"]]
        container = self("from", name)
        try:
            root = Path(self("mount", container))
            layers = list(zip(["the base", *instructions("cpu")], sizes, strict=True))
            yield Image(root, about["Docker"]["config"], layers)
        finally:
            self("rm", container)


def instructions(stage: str) -> list[str]:
    """Return those instructions of a stage of the Dockerfile that make a layer."""
    text = DOCKERFILE.read_text(encoding="utf-8")
    _, _, rest = text.partition(f" AS {stage}\n")
    lines = rest.partition("\nFROM ")[0].splitlines()
    return [line for line in lines if line.startswith(("COPY ", "RUN "))]


def build(buildah: Buildah) -> str:
    """Build the cpu target; return the image's name."""
    if not buildah.has(BASE):
        make_base(buildah)
    settings = buildah.work / "pip.conf"
    volumes = pip_settings(settings)
    with_volumes = [word for path in volumes for word in ("--volume", f"{path}:{path}:ro")]
    buildah(
        *("build", "--isolation", "chroot", "--format", "docker", "--layers", "--target", "cpu"),
        *("--build-arg", f"PYTHON_IMAGE={BASE}", "--build-arg", f"REVISION={revision()}"),
        *("--secret", f"id=pip,src={settings}", *with_volumes),
        *("--tag", IMAGE, "--file", DOCKERFILE, PROJECT),
    )
    return IMAGE


def make_base(buildah: Buildah) -> None:
    """Make the stand-in for the slim Python image."""
    root = buildah.work / "base"
    shutil.rmtree(root, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(root)]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        raise CheckError("wanted debootstrap to succeed, got the error above")
    shutil.rmtree(root / "var/cache/apt", ignore_errors=True)
    container = buildah("from", "scratch")
    buildah("copy", "--quiet", container, root, "/")
    buildah("commit", "--quiet", "--rm", container, BASE)
    shutil.rmtree(root)


def pip_settings(target: Path) -> list[Path]:
    """Write what pip is told on this machine as one pip.conf; return the local folders it names."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    settings = {}  # of files first, then of the environment, which comes first for pip, too
    for line in sorted(listed.splitlines(), reverse=True):
        name, _, value = line.partition("=")
        settings[name.rpartition(".")[2]] = " ".join(ast.literal_eval(value).split())
    lines = ["[global]", *(f"{name} = {value}" for name, value in settings.items())]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = [word for value in settings.values() for word in value.split()]
    paths = {Path(word) for word in words if word.startswith("/")}
    paths = {path if path.is_dir() else path.parent for path in paths}
    # An index on disk links to files beside it.
    paths |= {
        Path(word.removeprefix("file://")).parent for word in words if word.startswith("file://")
    }
    return sorted(path for path in paths if path.is_dir())


def revision() -> str:
    command = ["git", "-C", str(PROJECT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
