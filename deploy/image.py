"""The cpu image without an engine: debootstrap makes the base, buildah builds and runs it."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

PROJECT = Path(__file__).resolve().parents[1]
SERVICE = yaml.safe_load((PROJECT / "deploy" / "compose.yaml").read_text())["services"]["plates"]
SUITE, PACKAGES = "bookworm", "python3,python3-venv,libpython3.11,ca-certificates"
WORK = Path("/var/tmp/plates-image")
BUILDAH = ("buildah", "--root", f"{WORK}/storage", "--runroot", f"{WORK}/run")
BASE, IMAGE = "localhost/plates-base:check", "localhost/plates:check-cpu"

# Parts of compose.yaml for which buildah has no option: a read-only root, sizes of /dev/shm and
# /tmp, and no way to new rights. Both folders are mounted as Docker does: no program in them can
# run. `$1` to `$3` are root, size of /dev/shm and options of /tmp; the rest is the command. buildah
# lays some files over the root: they must exist before it becomes read-only. It later removes the
# one in /run again.
ISOLATE = """\
set -e
root=$1 shm=$2 tmp=$3; shift 3
touch "$root/etc/hosts" "$root/etc/hostname" "$root/etc/resolv.conf"
mount --bind "$root" "$root" && mount --bind "$root/run" "$root/run"
mount -o remount,bind,ro "$root"
mount -t tmpfs -o noexec,nosuid,nodev,"$tmp" tmpfs "$root/tmp"
mount -t tmpfs -o noexec,nosuid,nodev,size="$shm",mode=1777 tmpfs /dev/shm
exec setpriv --no-new-privs "$@"
"""
UNSHARE = ("unshare", "--mount", "--mount-proc", "--pid", "--ipc", "--fork", "--kill-child")


class CheckError(Exception):
    """A fault in the image, or something that this machine lacks."""


def buildah(*arguments: object) -> str:
    """Run buildah; return its output."""
    result = subprocess.run(
        [*BUILDAH, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=False
    )
    if result.returncode:
        raise CheckError(f"wanted buildah {arguments[0]} to succeed, got the error above")
    return result.stdout.strip()


def build() -> None:
    """Build the cpu target."""
    WORK.mkdir(parents=True, exist_ok=True)
    if BASE not in buildah("images", "--format", "{{.Name}}:{{.Tag}}").splitlines():
        make_base()
    settings = WORK / "pip.conf"
    folders = pip_settings(settings)
    buildah(
        "build",
        "--isolation",
        "chroot",
        "--format",
        "docker",
        "--layers",
        "--target",
        "cpu",
        "--build-arg",
        f"PYTHON_IMAGE={BASE}",
        "--secret",
        f"id=pip,src={settings}",
        *(f"--volume={folder}:{folder}:ro" for folder in folders),
        "--tag",
        IMAGE,
        PROJECT,
    )


def make_base() -> None:
    """Make the base image, which replaces the slim Python image."""
    container = buildah("from", "scratch")
    root = buildah("mount", container)
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, root]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        raise CheckError("wanted debootstrap to succeed, got the error above")
    shutil.rmtree(f"{root}/var/cache/apt")
    buildah("commit", "--quiet", "--rm", container, BASE)


class Container:
    """A container of the built image, as compose.yaml describes it; remove it after use.

    Attributes:
        root: Folder of its files.
        config: User, Env, Entrypoint, Cmd, Healthcheck, ...
        layers: The command that made each layer of the image, and the layer's size in bytes.
    """

    def __init__(self) -> None:
        about = json.loads(buildah("inspect", "--type", "image", IMAGE))
        self.config: dict[str, Any] = about["Docker"]["config"]
        steps = [step for step in about["OCIv1"]["history"] if "empty_layer" not in step]
        sizes = [layer["size"] for layer in json.loads(about["Manifest"])["layers"]]
        self.layers = [(a["created_by"], size) for a, size in zip(steps, sizes, strict=True)]
        self._name = buildah("from", "--isolation", "chroot", "--cap-drop", "ALL", IMAGE)
        self.root = Path(buildah("mount", self._name))

    def remove(self) -> None:
        buildah("rm", self._name)

    def start(self, *command: str, **streams: Any) -> subprocess.Popen[str]:
        """Run a command as the image's user."""
        (tmp,) = (mount.removeprefix("/tmp:") for mount in SERVICE["tmpfs"])
        isolate = ["sh", "-c", ISOLATE, "isolate", str(self.root), SERVICE["shm_size"], tmp]
        run = [*BUILDAH, "run", self._name, "--", *command]
        return subprocess.Popen([*UNSHARE, *isolate, *run], text=True, **streams)

    def run(self, *command: str) -> tuple[int, str]:
        """Run a command; return its exit status and its output."""
        process = self.start(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, _ = process.communicate()
        return process.returncode, output.strip()


def process_of(service: subprocess.Popen[str]) -> int:
    """Return the process of a running command, below the processes that isolate it."""
    below = [service.pid]
    for pid in below:
        command_line = Path(f"/proc/{pid}/cmdline").read_text()
        if command_line and "buildah" not in command_line:
            return pid
        threads = Path(f"/proc/{pid}/task").glob("*/children")
        below += [int(child) for thread in threads for child in thread.read_text().split()]
    raise CheckError("wanted a running command, got one that has ended")


def pip_settings(target: Path) -> list[Path]:
    """Write this machine's settings of pip as one pip.conf; return the local folders in them."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    settings_text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    settings = {}  # first of files, then of the environment, which pip prefers
    for line in sorted(settings_text.splitlines(), reverse=True):
        name, _, value = line.partition("=")
        settings[name.rpartition(".")[2]] = " ".join(ast.literal_eval(value).split())
    lines = ["[global]", *(f"{name} = {value}" for name, value in settings.items())]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = [word for value in settings.values() for word in value.split()]
    # An index on disk links to files beside it.
    beside = [Path(word[7:]).parent for word in words if word.startswith("file://")]
    paths = {*beside, *(Path(word) for word in words if word.startswith("/"))}
    return sorted({path if path.is_dir() else path.parent for path in paths})
