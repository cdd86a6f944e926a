"""Build the `cpu` image without a Docker engine, look inside, and run it the way compose.yaml does.

Every step of the Dockerfile runs for real, from a clean root: buildah builds without an engine, and
debootstrap makes the base, a Debian with Python that stands in for the slim Python image. Needs
root, Linux, and Debian's packages buildah, debootstrap and util-linux:

    sudo .venv/bin/python -m deploy.check_image

Packages come from where pip finds them on this machine, mirrors and folders of wheels included.
Python rather than shell: half of it reads JSON, and talks to the server as a caller does.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from deploy.container import GRACE_S, first_process, inside, start
from deploy.image import PROJECT, Buildah, CheckError, Image, build
from orchestrator.client import PlateClient
from orchestrator.server.ports import free_ports

PROGRAMS = ("buildah", "debootstrap", "unshare", "nsenter", "chroot", "setpriv")
PICTURE, LABELS = (PROJECT / "tests" / "data" / name for name in ("street.jpg", "labels.csv"))
TOOLS = {"gcc", "cc", "g++", "c++", "clang", "make", "cmake", "ld", "as", "git", "pip", "uv"}
CONTENT = [".venv", "model_repository", "orchestrator", "weights"]
PIP = ("root/.cache", "root/.config", "etc/pip.conf")
START_S = 200


def main() -> None:
    parser = argparse.ArgumentParser(description="Build, inspect and run the cpu image.")
    parser.add_argument("--work", type=Path, default=Path("/var/tmp/plates-image"))
    parser.add_argument("--storage-driver", default="overlay", help="vfs where that is refused")
    given = parser.parse_args()
    try:
        check_machine()
        buildah = Buildah(given.work, given.storage_driver)
        begin = time.monotonic()
        name = build(buildah)
        print(f"built in {time.monotonic() - begin:.0f} s")
        with buildah.mounted(name) as image:
            show_layers(image)
            check_files(image)
            check_run(image)
    except CheckError as error:
        sys.exit(f"check_image: {error}")
    print(f"all is well; rm -r {given.work} frees the space, or keep it for the next time")


def check_machine() -> None:
    if os.geteuid() != 0:
        raise CheckError("wanted root, for chroot and mounts, got an ordinary user")
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        raise CheckError(f"wanted {', '.join(PROGRAMS)}, got no {', '.join(missing)}")


def show_layers(image: Image) -> None:
    print("layers, MB:")
    for made, size in image.layers:
        print(f"  {size / 1e6:7.1f}  {made[:88]}")
    print(f"  {sum(size for _, size in image.layers) / 1e6:7.1f}  in all")


def check_files(image: Image) -> None:
    """See that nothing is in the image but what serving needs."""
    uid = image.config["User"].partition(":")[0]
    report("runs as an ordinary user", uid.isdigit() and uid != "0", image.config["User"])
    paths = [image.root / folder.lstrip("/") for folder in variables(image)["PATH"].split(":")]
    found = [str(path) for folder in paths for path in folder.glob("*") if path.name in TOOLS]
    report("no compiler, no installer", not found, ", ".join(found))
    ours = list((image.root / "opt/plates").rglob("*"))
    strange = [path for path in ours if path.name in {"tests", ".git"}]
    report("no tests, no history", not strange, ", ".join(map(str, strange[:3])))
    folders = sorted(path.name for path in (image.root / "opt/plates").iterdir())
    report("what serving needs, and no more", folders == CONTENT, ", ".join(folders))
    left = [path for path in PIP if (image.root / path).exists()]
    report("no cache and no settings of pip", not left, ", ".join(left))
    writable = [path for path in ours if not path.is_symlink() and path.stat().st_mode & 0o002]
    report("nothing that everybody may write", not writable, ", ".join(map(str, writable[:3])))


def variables(image: Image) -> dict[str, str]:
    return dict(variable.split("=", 1) for variable in image.config["Env"])


def check_run(image: Image) -> None:
    """Start the service, ask it as a health check and as a caller does, and end it."""
    http, grpc, metrics = free_ports(3)
    ports = [f"--http-port={http}", f"--grpc-port={grpc}", f"--metrics-port={metrics}"]
    service = start(image, [*image.config["Entrypoint"], *image.config["Cmd"], *ports])
    try:
        pid = first_process(service)
        wait_until_healthy(service, pid, image, f"localhost:{http}")
        with PlateClient(f"localhost:{http}") as client:
            texts = sorted(plate.text for plate in client.recognize(PICTURE))
        report("a caller reads the street", texts == labels(), ", ".join(texts))
        written = inside(pid, image, ["touch", "/opt/plates/x"]).stderr.strip()
        report("the root is read-only", "Read-only" in written, written)
        begin = time.monotonic()
        os.kill(pid, signal.SIGTERM)
        status = service.wait(GRACE_S)
        seconds = f"{time.monotonic() - begin:.1f} s of {GRACE_S}, exit status {status}"
        report("SIGTERM ends it in its grace period", status == 0, seconds)
    finally:
        service.kill()


def wait_until_healthy(service: subprocess.Popen[bytes], pid: int, image: Image, url: str) -> None:
    """Return when the image's own health check succeeds inside."""
    command = [*image.config["Healthcheck"]["Test"][1:], "--url", url]
    begin = time.monotonic()
    while inside(pid, image, command).returncode:
        if service.poll() is not None or time.monotonic() - begin > START_S:
            raise CheckError("wanted the health check to succeed, got the log above")
        time.sleep(0.2)
    report("the health check succeeds", True, f"after {time.monotonic() - begin:.1f} s")


def labels() -> list[str]:
    with LABELS.open(encoding="utf-8", newline="") as lines:
        return sorted(row["text"] for row in csv.DictReader(lines))


def report(claim: str, holds: bool, detail: str) -> None:
    print(f"{'ok' if holds else 'NO':>4}  {claim}{f': {detail}' if detail else ''}", flush=True)
    if not holds:
        raise CheckError(f"wanted: {claim}")


if __name__ == "__main__":
    main()
