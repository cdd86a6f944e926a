"""Faults of the machine around a service: a second service, a taken port, a clock that jumps."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from pathlib import Path

from workshop.benchmarks.faults.observation import Target
from workshop.benchmarks.faults.report import Effect
from workshop.benchmarks.faults.settings import OFFSET_FILE, set_offset
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
        taken = names - target.service.leftovers()
    finally:
        other.stop()
    failures = [f"it took {len(taken)} regions and folders away"] if taken else []
    if left := other.leftovers() - names:
        failures.append(f"it left {len(left)} regions and folders")
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
        said = other.log.read_text(errors="replace").strip().splitlines()[1:]
    failures = [] if status else [f"exit status {status}"]
    if len(said) != 1:
        failures.append(f"wanted one line of what is wrong, got {len(said)}")
    if left := other.leftovers() - names:
        failures.append(f"it left {len(left)} regions and folders")
    notes = (f"exit status {status}", *(f"said: {line}" for line in said[-1:]))
    return Effect(time.monotonic(), notes=notes, failures=tuple(failures))


def jump(target: Target) -> Effect:
    """Set the service's clock one hour forward, and back again."""
    offset = Path(target.service.launch.variables[OFFSET_FILE])
    set_offset(offset, JUMP_S)
    time.sleep(JUMP_LASTS_S)
    set_offset(offset, 0)
    return Effect(time.monotonic(), notes=(f"forward for {JUMP_LASTS_S:.0f} s, then back",))
