"""Takes disks, descriptors, processes and the right time away from the watch."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workshop.benchmarks.camera_faults.acts import Act, make
from workshop.benchmarks.camera_faults.world import World
from workshop.benchmarks.faults.host_faults import fill_up, lower_limit
from workshop.benchmarks.processes import find_tree

DAY_S, HOUR_S = 86400, 3600
STEP_BACK_S = 3.0
PIDS = Path("/sys/fs/cgroup/pids")


def fill(place: str) -> Act:
    """Fill a small disk."""
    return lambda world: fill_up(world.folder / place)


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
    return lambda world: lower_limit(
        world.watch.pid, resource.RLIMIT_NOFILE, world.watch.measure().descriptors + spare
    )


@contextmanager
def forbid_processes(world: World) -> Iterator[None]:
    """Let the watch start no process and no thread."""
    group = PIDS / f"camera-faults-{world.watch.pid}"
    group.mkdir()
    for member in find_tree(world.watch.pid):
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
    back_to = 0 if is_undone else seconds
    return make(lambda world: world.set_clock(seconds), lambda world: world.set_clock(back_to))


def _step_to_and_fro(world: World) -> None:
    for seconds in (HOUR_S, -DAY_S, DAY_S, -HOUR_S):
        world.set_clock(seconds)
        time.sleep(STEP_BACK_S)
    world.set_clock(0)


step_to_and_fro = make(_step_to_and_fro)
"""Sets a wall clock an hour ahead, a day back, and so on."""


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
