"""Acts make faults of the watch, its file and its machine: blocks that heal it at their end."""

from __future__ import annotations

import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path

from workshop.benchmarks.camera_faults.watching import END_LIMIT_S
from workshop.benchmarks.camera_faults.world import LIST, World, listed_texts
from workshop.benchmarks.faults.host_faults import filled, limited
from workshop.benchmarks.processes import find_tree

Act = Callable[[World], AbstractContextManager[None]]


@contextmanager
def nothing(_world: World) -> Iterator[None]:
    """Do nothing: the fault lies in the setting."""
    yield


def both(first: Act, second: Act) -> Act:
    """Make two faults at once."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        with first(world), second(world):
            yield

    return act


OPENED_WITHIN_S = 30.0
RELOADS, RELOAD_EVERY_S = 5, 1.5


@contextmanager
def kill_watch(world: World) -> Iterator[None]:
    """Kill the command, and start it again at the end."""
    world.watch.send(signal.SIGKILL)
    world.watch.wait()
    try:
        yield
    finally:
        world.watch.start()


@contextmanager
def kill_sharing(world: World) -> Iterator[None]:
    """Kill the first of several watchers."""
    world.watch.send(signal.SIGKILL)
    world.watch.wait()
    yield


@contextmanager
def suspend_watch(world: World) -> Iterator[None]:
    """Stop the command, and let it go on at the end."""
    world.watch.send(signal.SIGSTOP)
    try:
        yield
    finally:
        world.watch.send(signal.SIGCONT)


@contextmanager
def stop_watch(world: World) -> Iterator[None]:
    """Ask the command to end; it must within its limit. It is started again at the end."""
    status, took_s = world.watch.stop()
    if status != 0:
        world.failures.append(f"exit status {status} after SIGTERM")
    if took_s > END_LIMIT_S:
        world.failures.append(f"ended {took_s:.1f} s after SIGTERM")
    world.watch.kill()
    try:
        yield
    finally:
        world.watch.start()


@contextmanager
def start_another(world: World) -> Iterator[None]:
    """Start a second watcher of the same file without `--share`; it must end, and harm nothing."""
    command = world.watch
    done = subprocess.run(
        [*command.command(), "-q"], capture_output=True, text=True, timeout=60, check=False,
        env=command.variables(),
    )  # fmt: skip
    if done.returncode == 0:
        world.failures.append("the second watcher ended with status 0")
    if "Traceback" in done.stderr:
        reason = done.stderr.strip().splitlines()[-1]
        world.failures.append(f"the second watcher ended with a traceback: {reason}")
    yield


def write_file(extra: str) -> Act:
    """Add sections to the file of cameras, and take them away at the end."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        before = world.file.read_text(encoding="utf-8")
        world.file.write_text(f"{before}\n{extra}\n", encoding="utf-8")
        try:
            yield
        finally:
            world.file.write_text(before, encoding="utf-8")

    return act


@contextmanager
def write_often(world: World) -> Iterator[None]:
    """Change the file of cameras every second, sinks and cameras included."""
    before = world.file.read_text(encoding="utf-8")
    for number in range(RELOADS):
        sink = f'name = "log"\noptions = {{ kept_files = "{number + 1}" }}'
        text = before.replace('name = "log"', sink)
        text = text.replace('name = "camera', f"group = 'group{number}'\nname = \"camera")
        world.file.write_text(text, encoding="utf-8")
        time.sleep(RELOAD_EVERY_S)
    try:
        yield
    finally:
        world.file.write_text(before, encoding="utf-8")


@contextmanager
def remove_file(world: World) -> Iterator[None]:
    """Move the file of cameras away, and back at the end."""
    away = world.file.with_suffix(".away")
    world.file.rename(away)
    try:
        yield
    finally:
        away.rename(world.file)


@contextmanager
def empty_list(world: World) -> Iterator[None]:
    """Take all plates off the list, a moment after the gate has opened: the next vehicle waits."""
    known = _count_requests(world)
    deadline = time.monotonic() + OPENED_WITHIN_S
    while _count_requests(world) == known and time.monotonic() < deadline:
        time.sleep(0.05)
    with closing(world.open_store()) as store:
        for text in listed_texts():
            store.lists.remove(LIST, text)
    world.unlisted_s = time.monotonic()
    yield


def _count_requests(world: World) -> int:
    file = world.relay.requests
    return file.read_bytes().count(b"\n") if file.exists() else 0


DAY_S, HOUR_S = 86400, 3600
STEP_BACK_S = 3.0
PIDS = Path("/sys/fs/cgroup/pids")


def fill(place: str) -> Act:
    """Fill a small disk."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        with filled(world.folder / place):
            yield

    return act


def make_read_only(place: str) -> Act:
    """Let a small disk take no writes: it is mounted read-only over itself.

    A disk that is mounted again refuses that while a file on it is open for writing.
    """

    @contextmanager
    def act(world: World) -> Iterator[None]:
        folder = str(world.folder / place)
        _run("mount", "--bind", folder, folder)
        try:
            _run("mount", "-o", "bind,remount,ro", folder)
            yield
        finally:
            _run("umount", "--lazy", folder)

    return act


def limit_descriptors(spare: int) -> Act:
    """Leave the watch few file descriptors, or none."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        limit = world.watch.measure().descriptors + spare
        with limited(world.watch.pid, resource.RLIMIT_NOFILE, limit):
            yield

    return act


@contextmanager
def forbid_processes(world: World) -> Iterator[None]:
    """Let the watch start no process and no thread."""
    group = PIDS / f"camera-faults-{world.watch.pid}"
    group.mkdir()
    tree = find_tree(world.watch.pid)
    for member in tree:
        (group / "cgroup.procs").write_text(str(member))
    (group / "pids.max").write_text((group / "pids.current").read_text())
    try:
        yield
    finally:
        (group / "pids.max").write_text("max")
        for pid in (group / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                (PIDS / "cgroup.procs").write_text(pid)
        with suppress(OSError):
            group.rmdir()


def step_clock(seconds: int, *, is_undone: bool = False) -> Act:
    """Set a wall clock ahead or back, and perhaps right again at the end."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        world.set_clock(seconds)
        try:
            yield
        finally:
            if is_undone:
                world.set_clock(0)

    return act


@contextmanager
def step_to_and_fro(world: World) -> Iterator[None]:
    """Set a wall clock an hour ahead, a day back, and so on."""
    for seconds in (HOUR_S, -DAY_S, DAY_S, -HOUR_S):
        world.set_clock(seconds)
        time.sleep(STEP_BACK_S)
    world.set_clock(0)
    yield


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
