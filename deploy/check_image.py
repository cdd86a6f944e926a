"""Build the `cpu` image without a Docker engine, inspect it, and run it as compose.yaml does.

If Debian's docker.io is installed, too, this check starts its own engine. The engine runs the image
as docs/docker.md describes, and docker-compose runs it by compose.yaml. Otherwise a line says that
this was skipped.

Every step of the Dockerfile runs for real, from a clean root. Needs root, Linux, and Debian's
packages buildah, debootstrap and util-linux:

    sudo .venv/bin/python -m deploy.check_image

Packages come from the places where pip finds them on this machine, also mirrors and folders of
wheels. If the kernel refuses overlays, use STORAGE_DRIVER=vfs. It is Python rather than shell,
because half of it reads JSON and calls the server as a client.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import psutil
import torch

from deploy.check_docker import check_docker
from deploy.image import PROJECT, SERVICE, WORK, CheckError, Container, build, process_of
from orchestrator.client import PlateClient
from orchestrator.host.loopback import open_url
from orchestrator.networks.weights import list_sums
from orchestrator.serving.supervisor.ports import free_ports

PROGRAMS = ("buildah", "debootstrap", "unshare", "setpriv")
STREET, TEXTS = PROJECT / "tests" / "data" / "street.jpg", ["A123BC77", "M456OP199", "TO05577"]
TOOLS = {"gcc", "cc", "g++", "c++", "clang", "make", "cmake", "ld", "as", "git", "pip", "uv"}
CONTENT = [".venv", "model_repository", "orchestrator", "plate_cameras", "weights"]
WORKSHOP = ["workshop", "examples", "deploy", "tests"]
PLOTS = "matplotlib"  # only the workshop needs it
FIND = "import sys, importlib.util as u; print(*filter(u.find_spec, sys.argv[1:]))"
PIP = ("root/.cache", "root/.config", "etc/pip.conf")
RIGHTS = "id -u; grep -E 'CapEff|NoNewPrivs' /proc/self/status; df -m --output=size /dev/shm"
RUN_IN = "cp /bin/true {0}/program && {0}/program"
LOOPBACK = ("127.0.0.1", "::1", "::ffff:127.0.0.1")  # gRPC turns the first into the last
MIB = {"m": 1, "g": 1024}  # of Docker's units of sizes
COUNTED = ("plates_gateway_calls_total", "plates_pictures_total", "nv_inference_count")
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
    start_s = time.monotonic()
    build()
    print(f"built in {time.monotonic() - start_s:.0f} s")
    container = Container()
    try:
        show_layers(container)
        check_files(container)
        check_packages(container)
        check_rights(container)
        check_service(container)
        check_own_weights(container)
    finally:
        container.remove()
    check_docker(STREET, TEXTS, container.config["Healthcheck"]["Test"][1:], report)


def show_layers(image: Container) -> None:
    print("layers, MB:")
    for command, size in image.layers:
        print(f"  {size / 1e6:7.1f}  {re.sub(SHELL, '', command)[:88] or 'the base'}")
    print(f"  {sum(size for _, size in image.layers) / 1e6:7.1f}  in all")


def check_files(image: Container) -> None:
    """Check that the image has only files that serving needs."""
    search = dict(variable.split("=", 1) for variable in image.config["Env"])["PATH"]
    paths = [image.root / folder.lstrip("/") for folder in search.split(":")]
    programs = [str(path) for folder in paths for path in folder.glob("*") if path.name in TOOLS]
    report("no compiler, no installer", not programs, ", ".join(programs))
    folders = sorted(path.name for path in (image.root / "opt/plates").iterdir())
    report("what serving needs, and no more", folders == CONTENT, ", ".join(folders))
    leftovers = [path for path in PIP if (image.root / path).exists()]
    report("no cache and no settings of pip", not leftovers, ", ".join(leftovers))
    ours = (image.root / "opt/plates").rglob("*")
    writable = [path for path in ours if not path.is_symlink() and path.stat().st_mode & 0o002]
    report("nothing that everybody may write", not writable, ", ".join(map(str, writable[:3])))


def check_packages(image: Container) -> None:
    """Check which packages Python finds in the image."""
    status, packages = image.run("python", "-c", FIND, "orchestrator", *WORKSHOP, PLOTS)
    is_alone = (status, packages) == (0, "orchestrator")
    report("of our packages orchestrator alone, and no plots", is_alone, packages)


def check_rights(image: Container) -> None:
    """Check that a process has the rights from compose.yaml, and no more."""
    _, output = image.run("sh", "-c", RIGHTS)
    uid, capabilities, is_final, _, shm = (line.split()[-1] for line in output.splitlines())
    report("runs as an ordinary user", f"{uid}:{uid}" == image.config["User"] != "0:0", uid)
    report("no rights, and no way to any", (int(capabilities, 16), is_final) == (0, "1"), "")
    size = SERVICE["shm_size"]
    report("its shared memory", int(shm) == int(size[:-1]) * MIB[size[-1]], f"{shm} MB")
    _, output = image.run("touch", "/opt/plates/x")
    report("the root is read-only", "Read-only" in output, output.partition("\n")[0])
    for folder in ("/tmp", "/dev/shm"):
        _, output = image.run("sh", "-c", RUN_IN.format(folder))
        report(f"nothing in {folder} can be run", "Permission denied" in output, output)


def check_service(image: Container) -> None:
    """Start the service, call it as a health check and as clients do, and stop it."""
    http, grpc, metrics = ports = free_ports(3)
    fronts = [f"--http-port={http}", f"--grpc-port={grpc}", f"--metrics-port={metrics}"]
    command = [*image.config["Entrypoint"], *fronts]
    check_refusal(image, command)
    service = image.start(*command, "--no-keys")
    try:
        wait_until_healthy(service, image, f"localhost:{metrics}/readyz")
        check_callers(f"localhost:{http}", f"localhost:{grpc}")
        check_metrics(f"http://localhost:{metrics}/metrics")
        check_ports(service, set(ports))
        check_end(service)
    finally:
        service.kill()


def check_own_weights(image: Container) -> None:
    """Check that it serves weights which the image has not exported, on read-only folders."""
    copy = image.root / "srv/weights"
    shutil.copytree(PROJECT / "weights", copy)
    state = torch.load(copy / "stn.pth", weights_only=True)
    state["fc_loc.2.bias"] += 1e-6
    torch.save(state, copy / "stn.pth")
    list_sums(copy)
    http, metrics = free_ports(2)
    fronts = [f"--http-port={http}", "--no-grpc", f"--metrics-port={metrics}"]
    command = [*image.config["Entrypoint"], *fronts, "--no-keys", "--weights=/srv/weights"]
    service = image.start(*command)
    try:
        wait_until_healthy(service, image, f"localhost:{metrics}/readyz")
        with PlateClient(f"localhost:{http}") as client:
            texts = sorted(client.recognize(STREET).texts)
        report("weights of one's own are exported and read the street", texts == TEXTS, "")
        check_end(service)
    finally:
        service.kill()


def check_refusal(image: Container, command: list[str]) -> None:
    """Check that the service does not listen to other machines by accident."""
    status, output = image.run(*command)
    message = output.partition("plates: ")[2].partition("\n")[0]
    report("without keys it does not start", status != 0 and "--no-keys" in message, message)


def check_callers(http: str, grpc: str) -> None:
    """Call the gateway over each of its protocols."""
    for name, url in (("HTTP", http), ("gRPC", f"grpc://{grpc}")):
        with PlateClient(url) as client:
            texts = sorted(client.recognize(STREET).texts)
        report(f"a caller reads the street over {name}", texts == TEXTS, ", ".join(texts))
    headers = {"Content-Type": "image/jpeg"}
    call = urllib.request.Request(f"http://{http}/v1/recognize", STREET.read_bytes(), headers)
    with open_url(call, timeout_s=30) as answer:
        (picture,) = json.load(answer)["pictures"]
    texts = sorted(plate["text"] for plate in picture["plates"])
    report("a caller reads the street over REST", texts == TEXTS, ", ".join(texts))


def check_metrics(url: str) -> None:
    """Check that Prometheus gets the metrics of the gateway and of Triton."""
    with open_url(url, timeout_s=10) as answer:
        text = answer.read().decode()
    missing = [name for name in COUNTED if name not in text]
    report("metrics of the gateway, the model and Triton", not missing, ", ".join(missing))


def check_ports(service: subprocess.Popen[str], fronts: set[int]) -> None:
    """Check that only the gateway listens to other machines."""
    supervisor = psutil.Process(process_of(service))
    processes = [supervisor, *supervisor.children(recursive=True)]
    sockets = [connection for process in processes for connection in process.net_connections("tcp")]
    addresses = [socket.laddr for socket in sockets if socket.status == psutil.CONN_LISTEN]
    others = sorted({address.port for address in addresses if address.ip not in LOOPBACK})
    report("only the gateway listens to others", set(others) == fronts, f"ports {others}")
    report(
        "Triton listens on loopback", len({address.port for address in addresses} - fronts) > 0, ""
    )


def check_end(service: subprocess.Popen[str]) -> None:
    """Stop the service as an engine does."""
    start_s = time.monotonic()
    os.kill(process_of(service), signal.SIGTERM)
    status = service.wait(GRACE_S)
    seconds = f"{time.monotonic() - start_s:.1f} s of {GRACE_S}, exit status {status}"
    report("SIGTERM ends it in its grace period", status == 0, seconds)


def wait_until_healthy(service: subprocess.Popen[str], image: Container, url: str) -> None:
    """Return when the image's own health check succeeds inside the container."""
    command = [*image.config["Healthcheck"]["Test"][1:], url]
    start_s = time.monotonic()
    while image.run(*command)[0]:
        if service.poll() is not None or time.monotonic() - start_s > START_S:
            raise CheckError("wanted the health check to succeed, got the log above")
    report("the health check succeeds", True, f"after {time.monotonic() - start_s:.1f} s")


def report(claim: str, holds: bool, detail: str) -> None:
    print(f"{'ok' if holds else 'NO':>4}  {claim}{f': {detail}' if detail else ''}", flush=True)
    if not holds:
        raise CheckError(f"wanted: {claim}")


if __name__ == "__main__":
    main()
