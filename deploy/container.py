"""A container without an engine: what one does with namespaces, done with util-linux."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from deploy.image import PROJECT, CheckError, Image

SERVICE = yaml.safe_load((PROJECT / "deploy" / "compose.yaml").read_text())["services"]["plates"]
GRACE_S = int(SERVICE["stop_grace_period"].removesuffix("s"))

# A read-only root, /tmp and /dev/shm in memory, and process ids of its own. `$1` is the root, `$2`
# the size of /dev/shm, `$3` the options of /tmp, and the rest is the command.
ISOLATE = """\
set -e
root=$1 shm=$2 tmp=$3; shift 3
touch "$root/etc/hosts"
mount --make-rprivate / && mount --bind "$root" "$root" && mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o "$tmp" tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom; do
    touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm" && mount -t tmpfs -o size="$shm",mode=1777 tmpfs "$root/dev/shm"
mount --bind /etc/hosts "$root/etc/hosts"
exec chroot "$root" "$@"
"""


def start(image: Image, command: list[str]) -> subprocess.Popen[bytes]:
    """Run a command as the first process of a container that is what compose.yaml asks for."""
    (tmp,) = (mount.removeprefix("/tmp:") for mount in SERVICE["tmpfs"])
    isolated = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
    script = ["sh", "-c", ISOLATE, "isolate", str(image.root), SERVICE["shm_size"], tmp]
    return subprocess.Popen([*isolated, *script, *as_user(image), *command])


def as_user(image: Image) -> list[str]:
    """Return what goes before a command: the image's user and environment, and no rights."""
    uid, _, gid = image.config["User"].partition(":")
    rights = ["--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
    ids = [f"--reuid={uid}", f"--regid={gid or uid}"]
    return ["setpriv", *ids, *rights, "env", "-i", *image.config["Env"]]


def first_process(service: subprocess.Popen[bytes]) -> int:
    """Return the process that is number one inside."""
    children = Path(f"/proc/{service.pid}/task/{service.pid}/children")
    for _ in range(100):
        if pids := children.read_text().split():
            return int(pids[0])
        time.sleep(0.1)
    raise CheckError("wanted the container to start, got the error above")


def inside(pid: int, image: Image, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in the container, as an engine's exec does."""
    enter = ["nsenter", f"--target={pid}", "--mount", "--pid", "--ipc", "--root", "--wd"]
    return subprocess.run(
        [*enter, *as_user(image), *command], capture_output=True, text=True, check=False
    )
