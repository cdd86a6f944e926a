"""Test the image in a real Docker engine, as docs/docker.md describes, also under stress."""

from __future__ import annotations

import http.client
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import yaml  # type: ignore[import-untyped]

from deploy.docker import ROOT, SOCKET, Container, find_obstacle, load, run_engine, start
from deploy.image import PROJECT, SERVICE
from orchestrator.client import PlateClient
from orchestrator.serving.supervisor.ports import free_ports

TIGHT = (
    "--read-only",
    "--tmpfs=/tmp",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--memory=2g",
    "--pids-limit=1024",
    "--shm-size=512m",
    "--stop-timeout=45",
)
"""Options of the tight command in docs/docker.md; a test compares them."""
START_S = 200
GRACE_S = int(SERVICE["stop_grace_period"].removesuffix("s"))
CALLERS, CALLS = 12, 3
LARGE_WH = (8000, 6000)
"""Size of a phone's photo of 48 megapixels; with noise, its file has 13 MB."""
BUSY = (429, 503)
UNPUBLISHED = ("build", "ports", "expose")
"""Keys of a service that are not needed: the image is built, and the network is the machine's."""
SCORES = """\
for process in /proc/[0-9]*; do
    echo "$(tr -d ' ' < $process/comm) $(cat $process/oom_score_adj)"
done"""
ZOMBIES = "grep -lE '^State:.Z' /proc/[0-9]*/status | wc -l"
KILL_TRITON = """\
for process in /proc/[0-9]*; do
    if [ "$(cat $process/comm)" = tritonserver ]; then kill -9 "${process#/proc/}"; fi
done"""

Report = Callable[[str, bool, str], None]


def check_docker(street: Path, texts: list[str], health: list[str], report: Report) -> None:
    """Check that the image does in a real engine all that the pages say.

    Args:
        street: A picture.
        texts: The texts to be read in it.
        health: The image's health check; an address follows.
        report: Prints a claim and whether it holds; ends the check when it does not hold.
    """
    if obstacle := find_obstacle():
        print(f"skipped: nothing was tried in a Docker engine: {obstacle}", flush=True)
        return
    with run_engine():
        load()
        check_little_memory(report)
        check_life(street, texts, health, report)
        check_flood(street, texts, health, report)
        check_compose(street, texts, health, report)


class Ports:
    """Free ports for a service, and requests to them."""

    def __init__(self, health: list[str]) -> None:
        self.http, grpc, metrics = free_ports(3)
        self.flags = (
            f"--http-port={self.http}",
            f"--grpc-port={grpc}",
            f"--metrics-port={metrics}",
        )
        self.health = [*health, f"localhost:{metrics}/readyz"]

    def read(self, picture: Path) -> list[str]:
        with PlateClient(f"localhost:{self.http}", retries=3) as client:
            return sorted(client.recognize(picture).texts)


def check_little_memory(report: Report) -> None:
    """Check that a container with too little memory for the service reports that, and ends."""
    small = [option for option in TIGHT if "memory" not in option]
    container = start("small", ("--memory=1g", *small), ("--no-keys",))
    status, output = container.wait(), container.logs().strip()
    reason = output.splitlines()[-1]  # after limits that were lowered
    is_told = reason.startswith("plates: memory: wanted ")
    report("with 1 GiB it says what it needs, and ends", status > 0 and is_told, reason)


def check_life(street: Path, texts: list[str], health: list[str], report: Report) -> None:
    """Start, kill and start it again, kill its Triton, and stop it under load."""
    ports = Ports(health)
    container = start("tight", TIGHT, ("--no-keys", *ports.flags))
    seconds = container.wait_until_healthy(ports.health, START_S)
    report("the documented tight line is healthy", True, f"after {seconds:.1f} s")
    report("it reads the street", ports.read(street) == texts, "")
    threads = container.threads()
    report("its threads are less than half of the limit", 0 < threads < 512, str(threads))
    check_scores(container, report)
    container.execute("sh", "-c", KILL_TRITON)
    time.sleep(1)
    seconds = container.wait_until_healthy(ports.health, START_S)
    report("Triton that was killed is started again", True, f"after {seconds:.1f} s")
    zombies = container.execute("sh", "-c", ZOMBIES).stdout.strip()
    report("nothing of the dead Triton is left, without an init", zombies == "0", zombies)
    container.restart()
    seconds = container.wait_until_healthy(ports.health, START_S)
    report("killed and started again it is healthy", True, f"after {seconds:.1f} s")
    with call_constantly(ports.http, street) as answers:
        time.sleep(2)
        seconds, status = container.stop()
    summary = f"{seconds:.1f} s of {GRACE_S}, exit status {status}, {answers[200]} calls answered"
    has_ended = seconds < GRACE_S and status == 0 and answers[200] > 0
    report("stopped under load it ends in its grace period", has_ended, summary)


def check_scores(container: Container, report: Report) -> None:
    """Check which process the kernel would kill first."""
    lines = container.execute("sh", "-c", SCORES).stdout.splitlines()
    pairs = (line.split() for line in lines if " " in line)
    scores = {name: int(score) for name, score in pairs}  # equal for each name
    order = [scores[name] for name in ("python", "tritonserver", "triton_python_b")]
    is_right = scores["plates"] <= order[0] < order[1] < order[2]
    report("short of memory, the kernel kills a worker first", is_right, f"{scores}")


def check_flood(street: Path, texts: list[str], health: list[str], report: Report) -> None:
    """Check that many clients' large pictures are answered or rejected, with 2 GiB."""
    ports = Ports(health)
    container = start("flooded", TIGHT, ("--no-keys", *ports.flags))
    container.wait_until_healthy(ports.health, START_S)
    large = write_large(street)
    answers = flood(ports.http, large.read_bytes())
    summary = ", ".join(f"{answer}: {count}" for answer, count in sorted(answers.items(), key=str))
    are_expected = all(answer == 200 or answer in BUSY for answer in answers)
    report("every caller of 36 large pictures is answered or told to wait", are_expected, summary)
    report("some of them are answered", answers[200] > 0, "")
    peak = container.peak_bytes() / 2**30
    alive = container.state["Running"] and "died" not in container.logs()
    report("nothing was killed", alive, f"{peak:.2f} GiB of 2 at most")
    report("it reads the street after that", ports.read(street) == texts, "")
    container.stop()


def write_large(street: Path) -> Path:
    """Write a photo of 48 megapixels with the street in it."""
    noise = np.random.default_rng(1).integers(0, 255, (600, 800, 3), np.uint8)
    large = cv2.resize(noise, LARGE_WH, interpolation=cv2.INTER_CUBIC)
    small = cv2.imread(str(street))
    assert small is not None
    large[1000 : 1000 + small.shape[0], 1000 : 1000 + small.shape[1]] = small
    path = ROOT / "large.jpg"
    cv2.imwrite(str(path), large, [cv2.IMWRITE_JPEG_QUALITY, 90])
    return path


def flood(port: int, body: bytes) -> Counter[object]:
    """Return the number of concurrent calls by status; each client has an address of its own."""
    answers: Counter[object] = Counter()

    def send(number: int) -> None:
        for _ in range(CALLS):
            answers[ask(port, body, f"127.0.0.{number + 2}")] += 1

    callers = [threading.Thread(target=send, args=(number,)) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return answers


def ask(port: int, body: bytes, source: str = "127.0.0.1") -> object:
    """Return the status of a call's answer, or the reason why there was none."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=120, source_address=(source, 0)
    )
    try:
        connection.request("POST", "/v1/recognize", body, {"Content-Type": "image/jpeg"})
        answer = connection.getresponse()
        answer.read()
        is_told = answer.status not in BUSY or answer.getheader("Retry-After")
        return answer.status if is_told else f"{answer.status} without Retry-After"
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()


@contextmanager
def call_constantly(port: int, picture: Path) -> Iterator[Counter[object]]:
    """Let four clients call continuously for the length of a `with` block."""
    answers: Counter[object] = Counter()
    is_over, body = threading.Event(), picture.read_bytes()

    def send() -> None:
        while not is_over.is_set():
            answers[ask(port, body)] += 1

    callers = [threading.Thread(target=send) for _ in range(4)]
    for caller in callers:
        caller.start()
    try:
        yield answers
    finally:
        is_over.set()
        for caller in callers:
            caller.join()


def check_compose(street: Path, texts: list[str], health: list[str], report: Report) -> None:
    """Check that Compose accepts the file, with only a password, and starts the service."""
    program = shutil.which("docker-compose")
    if program is None:
        print("skipped: compose.yaml was not tried: no docker-compose on the PATH", flush=True)
        return
    whole = yaml.safe_load((PROJECT / "deploy" / "compose.yaml").read_text())
    del whole["name"]  # Compose before 2.0 does not know it
    status, output = compose(program, whole, "config")
    is_refused = status != 0 and "GRAFANA_PASSWORD" in output
    report("compose.yaml wants a password for Grafana", is_refused, output if status == 0 else "")
    status, output = compose(program, whole, "config", GRAFANA_PASSWORD="x")
    report("docker-compose takes compose.yaml", status == 0, output if status else "")
    ports = Ports(health)
    service = {name: value for name, value in SERVICE.items() if name not in UNPUBLISHED}
    service |= {"network_mode": "host", "command": [*SERVICE["command"], *ports.flags]}
    alone = {"services": {"plates": service | {"container_name": "composed"}}}
    status, output = compose(program, alone, "up", "--detach")
    report("docker-compose starts the service", status == 0, output if status else "")
    container = Container("composed")
    seconds = container.wait_until_healthy(ports.health, START_S)
    report("started by docker-compose it is healthy", True, f"after {seconds:.1f} s")
    report("it reads the street", ports.read(street) == texts, "")
    status, output = compose(program, alone, "down")
    report("docker-compose ends it", status == 0, output if status else "")


def compose(program: str, file: dict[str, Any], *command: str, **variables: str) -> tuple[int, str]:
    """Run docker-compose on a file; return its exit status and its output."""
    path = ROOT / "compose.yaml"
    path.write_text(yaml.safe_dump(file))
    result = subprocess.run(
        [program, "--file", str(path), "--project-name", "plates", *command],
        env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "DOCKER_HOST": SOCKET, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, (result.stdout + result.stderr).strip()
