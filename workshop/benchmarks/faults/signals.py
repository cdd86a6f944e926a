"""Kills or stops one or all processes of a service, or workers at random."""

from __future__ import annotations

import http.client
import os
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from orchestrator.errors import ServerError
from workshop.benchmarks.faults.observation import Act, Target
from workshop.benchmarks.faults.report import Effect
from workshop.benchmarks.processes import GATEWAY, TRITON
from workshop.benchmarks.service import Service, wait

PAUSE_S = 3.0
SEED = 0
CALLS, KILLS = 600, 4


class Killer:
    """Kills a worker at once and then every few seconds, but none while a worker is missing."""

    def __init__(self, service: Service, pause_s: float = PAUSE_S) -> None:
        self._service, self._pause_s = service, pause_s
        self._random = random.Random(SEED)
        self._is_over = threading.Event()
        self.kills: list[tuple[str, int]] = []

    @contextmanager
    def run(self) -> Iterator[None]:
        """Kill workers for the length of a `with` block."""
        self.kill()
        thread = threading.Thread(target=self._drive)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def _drive(self) -> None:
        while not self._is_over.wait(self._pause_s):
            is_whole = self._service.is_whole(pid for _, pid in self.kills)
            if is_whole and self._service.is_ready():
                self.kill()

    def kill(self) -> None:
        """Kill one random worker of any model."""
        processes = self._service.processes()
        workers = [
            (model, pid) for model in processes.models for pid in sorted(processes.pids[model])
        ]
        model, pid = self._random.choice(workers)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.kills.append((model, pid))


def kill_at_random(target: Target) -> Effect:
    """Kill workers until `CALLS` calls have ended and `KILLS` workers were killed."""
    killer, calls = Killer(target.service, PAUSE_S), target.load.calls
    began = len(calls)
    with killer.run(), suppress(ServerError):
        wait(lambda: len(calls) - began >= CALLS and len(killer.kills) >= KILLS, "kills")
    names = ", ".join(model for model, _ in killer.kills)
    victims = frozenset(pid for _, pid in killer.kills)
    return Effect(time.monotonic(), victims, (f"{len(killer.kills)} killed: {names}",))


START_AGAIN_S = 60.0
RESTART_S = 255.0
"""The time limit for a planned restart: 15 s more than the promise."""
RESTARTED = b"Triton was restarted"
GRACE_S = 8.0
"""The time limit for a stop with calls in progress; orchestrators allow 10 s and more."""
COMPLAINT = re.compile(r"error|traceback", re.IGNORECASE)


def send_signal(role: str, number: signal.Signals) -> Act:
    """Return an action that sends a signal to one process of a role."""

    def act(target: Target) -> Effect:
        pid = target.service.find(role)
        since = time.monotonic()
        os.kill(pid, number)
        return Effect(since, frozenset({pid}))

    return act


def kill_triton(target: Target) -> Effect:
    """Kill tritonserver; its workers end with it."""
    before = target.service.processes()
    since = time.monotonic()
    os.kill(min(before.pids[TRITON]), signal.SIGKILL)
    return Effect(since, before.all - before.pids[GATEWAY])


def restart_as_planned(target: Target) -> Effect:
    """Ask for a planned restart of Triton, and wait until it is complete.

    The number of processes does not show this: a temporary one serves meanwhile, and a failed
    start is retried.
    """
    service = target.service
    before, log_bytes = service.processes(), service.log.stat().st_size
    since = time.monotonic()
    service.send(signal.SIGHUP)
    with suppress(ServerError):
        wait(lambda: RESTARTED in service.log.read_bytes()[log_bytes:], "a restart", RESTART_S)
    return Effect(since, before.all - before.pids[GATEWAY])


def kill_command(target: Target) -> Effect:
    """Kill `plates serve` alone, and start it again at once."""
    service = target.service
    before, names = service.processes().all, service.leftovers()
    since = time.monotonic()
    service.send(signal.SIGKILL)
    service.wait_for_end()
    return _start_again(service, names, Effect(since, before))


def kill_everything(target: Target) -> Effect:
    """Kill every process at once, as when a container is killed, and start again at once."""
    service = target.service
    before, names = service.processes().all, service.leftovers()
    since = time.monotonic()
    service.kill_all()
    return _start_again(service, names, Effect(since, before))


def _start_again(service: Service, names: frozenset[str], effect: Effect) -> Effect:
    """Start a service in the same folders, with retries until it is ready; describe the starts."""
    refusals = []
    deadline = effect.since + START_AGAIN_S
    while True:
        service.start()
        try:
            service.wait_until_ready(START_AGAIN_S)
            break
        except ServerError as error:
            refusals.append(str(error))
            if time.monotonic() > deadline:
                raise
    leftovers = sorted(service.leftovers() & names)
    failures = [f"{len(refusals)} starts failed"] if refusals else []
    if leftovers:
        failures.append(f"{len(leftovers)} regions and folders of the dead service are left")
    ready = f"ready again after {time.monotonic() - effect.since:.1f} s"
    regions = f"{len(names)} regions and folders before, {len(leftovers)} of them after"
    notes = (ready, regions, *(f"the first start: {error}" for error in refusals[:1]))
    return Effect(effect.since, effect.victims, notes, tuple(failures))


def stop_at_work(target: Target) -> Effect:
    """Send SIGTERM while calls are in progress and a client keeps an idle connection."""
    service = target.service
    idle = http.client.HTTPConnection(service.gateway.http, timeout=5)
    idle.request("GET", "/healthz")
    idle.getresponse().read()
    log_bytes = service.log.stat().st_size
    since = time.monotonic()
    service.send(signal.SIGTERM)
    status = service.wait_for_end()
    took_s = time.monotonic() - since
    target.load.is_over.set()
    idle.close()
    return Effect(
        since,
        notes=(f"exit status {status} after {took_s:.1f} s", count_later(target, since)),
        failures=tuple(find_faults_of_end(service, status, took_s, log_bytes)),
        is_end=True,
    )


def count_later(target: Target, since: float) -> str:
    """Describe the results of the calls that were sent after a moment."""
    later = [call for call in target.load.calls if call.began >= since]
    answered_count = sum(call.is_answered for call in later)
    lost_count = sum(call.is_lost for call in later)
    rest = len(later) - answered_count - lost_count
    return f"sent later: {answered_count} answered, {rest} told to go, {lost_count} not connected"


def find_faults_of_end(
    service: Service, status: int | None, took_s: float, log_bytes: int
) -> list[str]:
    """Describe each fault in the end of a service, whose log had `log_bytes` before it."""
    failures = [f"exit status {status}"] if status else []
    if status is None:
        failures.append("it did not end")
    if took_s > GRACE_S:
        failures.append(f"ended after {took_s:.1f} s")
    lines = service.log.read_bytes()[log_bytes:].decode(errors="replace").splitlines()
    failures += [f"said: {line.strip()}" for line in lines if COMPLAINT.search(line)][:1]
    return failures
