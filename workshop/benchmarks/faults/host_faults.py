"""Faults of the machine: another service, a taken port, a clock that jumps, scarce resources."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from orchestrator.contract import MODEL
from workshop.benchmarks.faults.callers import enlarge, render_pictures
from workshop.benchmarks.faults.harmful_requests import Attempt, describe, find_blamed, send
from workshop.benchmarks.faults.observation import Target
from workshop.benchmarks.faults.report import Effect
from workshop.benchmarks.faults.settings import OFFSET_FILE, set_offset
from workshop.benchmarks.load.requests import HttpRequest, file, kserve_http, pixels
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.processes import GATEWAY, SHM
from workshop.benchmarks.service import HOST, Launch, Service, wait

CHECKED = "starting Triton"
"""The log text after the check that all ports are free, and before the service listens."""
END_S = 60.0
JUMP_S, JUMP_LASTS_S = 3600, 4.0
"""The jump of the clock, as after a machine has slept, and the time until it goes back."""


def _beside(target: Target) -> Service:
    """Return another service that shares the temporary folder."""
    folder = target.service.folder / f"beside-{time.monotonic_ns()}"
    return Service(folder, Launch(flags=target.service.launch.flags, tmp=target.service.tmp))


def start_and_stop_another(target: Target) -> Effect:
    """Start a second service beside the first one, and stop it."""
    other, names = _beside(target), target.service.leftovers()
    since = time.monotonic()
    try:
        other.start()
        other.wait_until_ready()
        ready_s = time.monotonic() - since
        taken_names = names - target.service.leftovers()
    finally:
        other.stop()
    failures = [f"it took {len(taken_names)} regions and folders away"] if taken_names else []
    if leftovers := other.leftovers() - names:
        failures.append(f"it left {len(leftovers)} regions and folders")
    note = f"the other was ready after {ready_s:.1f} s"
    return Effect(time.monotonic(), notes=(note,), failures=tuple(failures))


def take_a_port(target: Target) -> Effect:
    """Start a second service, and take one of its ports after it has checked that it is free."""
    other, names = _beside(target), target.service.leftovers()
    with ExitStack() as stack:
        stack.callback(other.stop)
        other.start()
        wait(lambda: CHECKED in other.log.read_text(), "the other to have looked", END_S)
        stack.enter_context(socket.create_server((HOST, other.ports.http)))
        status = other.wait_for_end(END_S)
        lines = other.log.read_text(errors="replace").strip().splitlines()[1:]
    failures = [] if status else [f"exit status {status}"]
    if len(lines) != 1:
        failures.append(f"wanted one line of what is wrong, got {len(lines)}")
    if leftovers := other.leftovers() - names:
        failures.append(f"it left {len(leftovers)} regions and folders")
    notes = (f"exit status {status}", *(f"said: {line}" for line in lines[-1:]))
    return Effect(time.monotonic(), notes=notes, failures=tuple(failures))


def jump(target: Target) -> Effect:
    """Set the service's clock one hour forward, and back again."""
    offset = Path(target.service.launch.variables[OFFSET_FILE])
    set_offset(offset, JUMP_S)
    time.sleep(JUMP_LASTS_S)
    set_offset(offset, 0)
    return Effect(time.monotonic(), notes=(f"forward for {JUMP_LASTS_S:.0f} s, then back",))


ROOM_BYTES = 32 * 1024 * 1024
"""The memory left to a worker: enough for the callers' pictures, too little for a large one."""
LARGE_WH, RAW_WH = (8000, 6000), (3000, 2000)
LARGE_CALLS = 8
LASTS_S = 4.0
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
SPARE_DESCRIPTORS, IDLE_CONNECTIONS = 6, 24


def _draw_large(size_wh: tuple[int, int]) -> Picture:
    (picture,) = render_pictures(1)
    return enlarge(picture, size_wh)


def limit_memory(target: Target) -> Effect:
    """Limit the memory of one worker, and send pictures that need more."""
    request = kserve_http([file(_draw_large(LARGE_WH).file_bytes)])
    pid = target.service.find(MODEL)
    with lower_limit(pid, resource.RLIMIT_AS, psutil.Process(pid).memory_info().vms + ROOM_BYTES):
        attempts = [send(target.service.gateway.http, request) for _ in range(LARGE_CALLS)]
    return Effect(
        time.monotonic(), notes=describe(attempts, "large pictures"), failures=find_blamed(attempts)
    )


def fill_shared_memory(target: Target) -> Effect:
    """Fill /dev/shm for a while, and send pictures that need more of it."""
    request = kserve_http([pixels(_draw_large(RAW_WH).bgr)])
    with fill_up(target.service.outside(SHM)):
        attempts = _send_for(LASTS_S, target.service, request)
    notes = describe(attempts, "large pictures meanwhile")
    return Effect(time.monotonic(), notes=notes, failures=find_blamed(attempts))


def fill_disk(target: Target) -> Effect:
    """Fill the folder of temporary files, which also holds the audit."""
    service = target.service
    log_bytes = service.log.stat().st_size
    with fill_up(service.outside(service.tmp)):
        time.sleep(LASTS_S)
    output = service.log.read_bytes()[log_bytes:].decode(errors="replace")
    failures = ("a traceback in the log",) if "Traceback" in output else ()
    notes = tuple(f"said: {line}" for line in output.splitlines()[:1])
    return Effect(time.monotonic(), notes=notes, failures=failures)


def take_descriptors(target: Target) -> Effect:
    """Leave the gateway few file descriptors, and open idle connections."""
    service = target.service
    pid = service.find(GATEWAY)
    limit = psutil.Process(pid).num_fds() + SPARE_DESCRIPTORS
    with lower_limit(pid, resource.RLIMIT_NOFILE, limit), ExitStack() as stack:
        idle = [stack.enter_context(_connect(service)) for _ in range(IDLE_CONNECTIONS)]
        for connection in idle:
            connection.sendall(HEALTH)
        time.sleep(LASTS_S)
        served_count = sum(map(_is_served, idle))
    note = f"of {IDLE_CONNECTIONS} connections more {served_count} were served meanwhile"
    return Effect(time.monotonic(), notes=(note,))


def _connect(service: Service) -> socket.socket:
    return socket.create_connection((HOST, service.ports.http), timeout=1)


def _is_served(connection: socket.socket) -> bool:
    """Tell whether an answer has come."""
    connection.setblocking(False)
    with suppress(OSError):
        return bool(connection.recv(1))
    return False


def _send_for(seconds: float, service: Service, request: HttpRequest) -> list[Attempt]:
    attempts: list[Attempt] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        attempts.append(send(service.gateway.http, request))
        time.sleep(0.2)
    return attempts


@contextmanager
def lower_limit(pid: int, limit_kind: int, limit: int) -> Iterator[None]:
    """Lower a process's limit for the length of a `with` block; the process may end meanwhile."""
    before = resource.prlimit(pid, limit_kind)
    resource.prlimit(pid, limit_kind, (limit, before[1]))
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, limit_kind, before)


@contextmanager
def fill_up(folder: Path) -> Iterator[None]:
    """Fill a file system completely for the length of a `with` block."""
    file = folder / "filler"
    try:
        with file.open("wb", buffering=0) as stream, suppress(OSError):  # until it is full
            room = os.statvfs(folder)
            os.posix_fallocate(stream.fileno(), 0, room.f_bavail * room.f_frsize)
            stream.seek(0, os.SEEK_END)
            while stream.write(bytes(room.f_frsize)):
                pass
        yield
    finally:
        file.unlink(missing_ok=True)
