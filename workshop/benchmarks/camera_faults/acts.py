"""Acts make faults: `with` blocks that break one thing, and heal it at their end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress

from workshop.benchmarks.camera_faults.programs import signal_tree
from workshop.benchmarks.camera_faults.watching import END_LIMIT_S
from workshop.benchmarks.camera_faults.world import LIST, World, list_texts
from workshop.benchmarks.faults.host_faults import fill_up
from workshop.benchmarks.postgresql_server import PostgresqlServer

Act = Callable[[World], AbstractContextManager[None]]
Step = Callable[[World], object]

OPENED_WITHIN_S = 30.0
RELOADS, RELOAD_EVERY_S = 5, 1.5


def make(breaks: Step, heals: Step = lambda _: None) -> Act:
    """Return an act of two steps: one makes the fault, the other heals it."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        breaks(world)
        try:
            yield
        finally:
            heals(world)

    return act


def both(first: Act, second: Act) -> Act:
    """Make two faults at once."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        with first(world), second(world):
            yield

    return act


nothing = make(lambda _: None)
"""Does nothing: the fault lies in the setting."""


# The programs around the watch; `name` is that of a program of the world.


def kill(name: str) -> Act:
    """Kill a program, and start it again at the end."""
    return make(
        lambda world: getattr(world, name).kill(), lambda world: getattr(world, name).start()
    )


def suspend(name: str) -> Act:
    """Stop a program, and let it go on at the end."""
    return make(
        lambda world: getattr(world, name).send(signal.SIGSTOP),
        lambda world: getattr(world, name).send(signal.SIGCONT),
    )


def behave(manner: str, name: str) -> Act:
    """Let a receiver answer in another manner."""
    return make(
        lambda world: getattr(world, name).behave(manner),
        lambda world: getattr(world, name).behave("ok"),
    )


def touch_file(world: World) -> None:
    """Touch the file of cameras, as an operator does whose webhook answers again."""
    world.webhook.behave("ok")
    world.file.touch()


refuse_for_good = make(lambda world: world.webhook.behave("gone"), touch_file)
"""Lets the webhook answer 410. At the end, the operator touches the file of cameras."""


def signal_decoders(number: signal.Signals, *, is_resumed: bool = False) -> Act:
    """Send a signal to all processes that decode."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        decoders = world.watch.find_decoders()
        _signal(decoders, number)
        try:
            yield
        finally:
            _signal(decoders if is_resumed else [], signal.SIGCONT)

    return act


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


# The database.


def _database(world: World) -> PostgresqlServer:
    assert world.postgresql
    return world.postgresql


def _kill_backend(world: World) -> None:
    sql = "SELECT pid FROM pg_stat_activity WHERE datname = 'plates' LIMIT 1"
    os.kill(int(_database(world).read_sql(sql)), signal.SIGKILL)


def _kill_postgresql(world: World) -> None:
    signal_tree(_database(world).pid, signal.SIGKILL)
    _database(world).kill()


kill_backend = make(_kill_backend)
"""Kills a process of PostgreSQL that serves a connection; the server restarts all."""
kill_postgresql = make(_kill_postgresql, lambda world: _database(world).start())
suspend_postgresql = make(
    lambda world: signal_tree(_database(world).pid, signal.SIGSTOP),
    lambda world: signal_tree(_database(world).pid, signal.SIGCONT),
)
"""Stops the server of the database: connections stay open, and nothing answers."""
RELOAD = "SELECT pg_reload_conf()"
forbid_writes = make(
    lambda world: _database(world).run_sql(
        "ALTER SYSTEM SET default_transaction_read_only = on", RELOAD
    ),
    lambda world: _database(world).run_sql(
        "SET default_transaction_read_only = off",
        "ALTER SYSTEM RESET default_transaction_read_only",
        RELOAD,
    ),
)
"""Makes the database read-only, like a standby."""


@contextmanager
def fill_database_disk(world: World) -> Iterator[None]:
    """Fill the disk of the database. If the server has ended, it is started again at the end."""
    try:
        with fill_up(_database(world).folder):
            yield
    finally:
        _database(world).start()


# The command, its file and its list.


def _kill_command(world: World) -> None:
    world.watch.send(signal.SIGKILL)
    world.watch.wait()


def _stop_command(world: World) -> None:
    status, took_s = world.watch.stop()
    if status != 0:
        world.failures.append(f"exit status {status} after SIGTERM")
    if took_s > END_LIMIT_S:
        world.failures.append(f"ended {took_s:.1f} s after SIGTERM")
    world.watch.kill()


def _start_another(world: World) -> None:
    """Start a second watcher of the same file without `--share`; it must end, and harm nothing."""
    command = world.watch
    result = subprocess.run(
        [*command.command(), "-q"], capture_output=True, text=True, timeout=60, check=False,
        env=command.variables(),
    )  # fmt: skip
    if result.returncode == 0:
        world.failures.append("the second watcher ended with status 0")
    if "Traceback" in result.stderr:
        reason = result.stderr.strip().splitlines()[-1]
        world.failures.append(f"the second watcher ended with a traceback: {reason}")


kill_watch = make(_kill_command, lambda world: world.watch.start())
kill_sharing = make(_kill_command)
"""Kills the first of several watchers."""
suspend_watch = suspend("watch")
stop_watch = make(_stop_command, lambda world: world.watch.start())
"""Asks the command to end; it must within its limit."""
start_another = make(_start_another)
remove_file = make(
    lambda world: world.file.rename(world.file.with_suffix(".away")),
    lambda world: world.file.with_suffix(".away").rename(world.file),
)


def change_file(change: Callable[[World, str], object]) -> Act:
    """Change the file of cameras by a function that gets its text; restore it at the end."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        before = world.file.read_text(encoding="utf-8")
        try:
            change(world, before)
            yield
        finally:
            world.file.write_text(before, encoding="utf-8")

    return act


def write_file(extra: str) -> Act:
    """Add sections to the file of cameras."""
    return change_file(lambda world, text: world.file.write_text(f"{text}\n{extra}\n"))


def _write_often(world: World, before: str) -> None:
    for number in range(RELOADS):
        sink = f'name = "log"\noptions = {{ kept_files = "{number + 1}" }}'
        text = before.replace('name = "log"', sink)
        text = text.replace('name = "camera', f"group = 'group{number}'\nname = \"camera")
        world.file.write_text(text, encoding="utf-8")
        time.sleep(RELOAD_EVERY_S)


write_often = change_file(_write_often)
"""Changes the file of cameras every second, sinks and cameras included."""


def _empty_list(world: World) -> None:
    count = _count_requests(world)
    deadline = time.monotonic() + OPENED_WITHIN_S
    while _count_requests(world) == count and time.monotonic() < deadline:
        time.sleep(0.05)
    with closing(world.open_store()) as store:
        for text in list_texts():
            store.lists.remove(LIST, text)
    world.unlisted_s = time.monotonic()


def _count_requests(world: World) -> int:
    file = world.relay.requests
    return file.read_bytes().count(b"\n") if file.exists() else 0


empty_list = make(_empty_list)
"""Takes all plates off the list, a moment after the gate has opened: the next vehicle waits."""
