"""Build the `cpu` image without a Docker engine, look inside, and run it the way compose.yaml does.

Every step of the Dockerfile runs for real, from a clean root. Needs root, Linux, and Debian's
packages buildah, debootstrap and util-linux:

    sudo .venv/bin/python -m deploy.check_image

Packages come from where pip finds them on this machine, mirrors and folders of wheels included.
Where the kernel refuses overlays, STORAGE_DRIVER=vfs does without.
Python rather than shell: half of it reads JSON, and talks to the server as a caller does.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time

from deploy.image import PROJECT, SERVICE, WORK, CheckError, Container, build, process_of
from orchestrator.client import PlateClient
from orchestrator.server.ports import free_ports

PROGRAMS = ("buildah", "debootstrap", "unshare", "setpriv")
STREET, TEXTS = PROJECT / "tests" / "data" / "street.jpg", ["A123BC77", "M456OP199", "TO05577"]
TOOLS = {"gcc", "cc", "g++", "c++", "clang", "make", "cmake", "ld", "as", "git", "pip", "uv"}
CONTENT = [".venv", "model_repository", "orchestrator", "weights"]
WORKSHOP = ["rendering", "reporting", "training", "evaluation", "benchmarks", "deploy", "tests"]
PLOTS = "matplotlib"  # which the workshop alone needs
FIND = "import sys, importlib.util as u; print(*filter(u.find_spec, sys.argv[1:]))"
PIP = ("root/.cache", "root/.config", "etc/pip.conf")
RIGHTS = "id -u; grep -E 'CapEff|NoNewPrivs' /proc/self/status; df -m --output=size /dev/shm"
SHELL = r"^/bin/sh( -c )?(#\(nop\) )?|dir:\S+ in "
START_S = 200
GRACE_S = int(SERVICE["stop_grace_period"].removesuffix("s"))


def main() -> None:
    try:
        check_machine()
        check()
    except CheckError as error:
        sys.exit(f"check_image: {error}")
    print(f"all is well; rm -r {WORK} frees the space, or keep it for the next time")


def check_machine() -> None:
    if os.geteuid() != 0:
        raise CheckError("wanted root, for chroot and mounts, got an ordinary user")
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        raise CheckError(f"wanted {', '.join(PROGRAMS)}, got no {', '.join(missing)}")


def check() -> None:
    begin = time.monotonic()
    build()
    print(f"built in {time.monotonic() - begin:.0f} s")
    container = Container()
    try:
        show_layers(container)
        check_files(container)
        check_packages(container)
        check_rights(container)
        check_service(container)
    finally:
        container.remove()


def show_layers(image: Container) -> None:
    print("layers, MB:")
    for made, size in image.layers:
        print(f"  {size / 1e6:7.1f}  {re.sub(SHELL, '', made)[:88] or 'the base'}")
    print(f"  {sum(size for _, size in image.layers) / 1e6:7.1f}  in all")


def check_files(image: Container) -> None:
    """See that nothing is in the image but what serving needs."""
    search = dict(variable.split("=", 1) for variable in image.config["Env"])["PATH"]
    paths = [image.root / folder.lstrip("/") for folder in search.split(":")]
    found = [str(path) for folder in paths for path in folder.glob("*") if path.name in TOOLS]
    report("no compiler, no installer", not found, ", ".join(found))
    folders = sorted(path.name for path in (image.root / "opt/plates").iterdir())
    report("what serving needs, and no more", folders == CONTENT, ", ".join(folders))
    left = [path for path in PIP if (image.root / path).exists()]
    report("no cache and no settings of pip", not left, ", ".join(left))
    ours = (image.root / "opt/plates").rglob("*")
    writable = [path for path in ours if not path.is_symlink() and path.stat().st_mode & 0o002]
    report("nothing that everybody may write", not writable, ", ".join(map(str, writable[:3])))


def check_packages(image: Container) -> None:
    """See what Python finds in the image."""
    status, found = image.run("python", "-c", FIND, "orchestrator", *WORKSHOP, PLOTS)
    is_alone = (status, found) == (0, "orchestrator")
    report("of our packages orchestrator alone, and no plots", is_alone, found)


def check_rights(image: Container) -> None:
    """See that a process has what compose.yaml gives it, and no more."""
    _, said = image.run("sh", "-c", RIGHTS)
    uid, capabilities, is_final, _, shm = (line.split()[-1] for line in said.splitlines())
    report("runs as an ordinary user", f"{uid}:{uid}" == image.config["User"] != "0:0", uid)
    report("no rights, and no way to any", (int(capabilities, 16), is_final) == (0, "1"), "")
    report("its shared memory", f"{shm}m" == SERVICE["shm_size"], f"{shm} MB")
    _, said = image.run("touch", "/opt/plates/x")
    report("the root is read-only", "Read-only" in said, said.partition("\n")[0])


def check_service(image: Container) -> None:
    """Start the service, ask it as a health check and as a caller does, and end it."""
    http, grpc, metrics = free_ports(3)
    ports = [f"--http-port={http}", f"--grpc-port={grpc}", f"--metrics-port={metrics}"]
    service = image.start(*image.config["Entrypoint"], *image.config["Cmd"], *ports)
    try:
        wait_until_healthy(service, image, f"localhost:{http}")
        with PlateClient(f"localhost:{http}") as client:
            texts = sorted(plate.text for plate in client.recognize(STREET))
        report("a caller reads the street", texts == TEXTS, ", ".join(texts))
        begin = time.monotonic()
        os.kill(process_of(service), signal.SIGTERM)
        status = service.wait(GRACE_S)
        seconds = f"{time.monotonic() - begin:.1f} s of {GRACE_S}, exit status {status}"
        report("SIGTERM ends it in its grace period", status == 0, seconds)
    finally:
        service.kill()


def wait_until_healthy(service: subprocess.Popen[str], image: Container, url: str) -> None:
    """Return when the image's own health check succeeds inside."""
    command = [*image.config["Healthcheck"]["Test"][1:], "--url", url]
    begin = time.monotonic()
    while image.run(*command)[0]:
        if service.poll() is not None or time.monotonic() - begin > START_S:
            raise CheckError("wanted the health check to succeed, got the log above")
    report("the health check succeeds", True, f"after {time.monotonic() - begin:.1f} s")


def report(claim: str, holds: bool, detail: str) -> None:
    print(f"{'ok' if holds else 'NO':>4}  {claim}{f': {detail}' if detail else ''}", flush=True)
    if not holds:
        raise CheckError(f"wanted: {claim}")


if __name__ == "__main__":
    main()
