"""Kills, stops and disturbs the programs around the watch, and its decoders."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from workshop.benchmarks.camera_faults.acts import Act
from workshop.benchmarks.camera_faults.programs import HostileServer, Program, signal_tree
from workshop.benchmarks.camera_faults.world import World
from workshop.benchmarks.faults.host_faults import filled
from workshop.benchmarks.processes import find_tree

Find = Callable[[World], Program]


def cameras(world: World) -> Program:
    """Return the RTSP server."""
    return world.cameras


def service(world: World) -> Program:
    """Return the recognition service."""
    return world.service


def broker(world: World) -> Program:
    """Return the broker."""
    return world.broker


def webhook(world: World) -> HostileServer:
    """Return the receiver of the webhook, whose manner can be changed."""
    return world.webhook


def relay(world: World) -> HostileServer:
    """Return the relay, whose manner can be changed."""
    return world.relay


def kill(find: Find) -> Act:
    """Kill a program, and start it again at the end."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        find(world).kill()
        try:
            yield
        finally:
            find(world).start()

    return act


def suspend(find: Find) -> Act:
    """Stop a program, and let it go on at the end."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        find(world).send(signal.SIGSTOP)
        try:
            yield
        finally:
            find(world).send(signal.SIGCONT)

    return act


def behave(manner: str, find: Callable[[World], HostileServer]) -> Act:
    """Let a receiver answer in another manner."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        find(world).behave(manner)
        try:
            yield
        finally:
            find(world).behave("ok")

    return act


@contextmanager
def refuse_for_good(world: World) -> Iterator[None]:
    """Let the webhook answer 410. At the end, the operator touches the file of cameras."""
    world.webhook.behave("gone")
    try:
        yield
    finally:
        world.webhook.behave("ok")
        world.file.touch()


def signal_decoders(number: signal.Signals, *, is_resumed: bool = False) -> Act:
    """Send a signal to all processes that decode."""

    @contextmanager
    def act(world: World) -> Iterator[None]:
        decoders = world.watch.find_decoders()
        for pid in decoders:
            os.kill(pid, number)
        try:
            yield
        finally:
            for pid in decoders if is_resumed else []:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    return act


@contextmanager
def kill_backend(world: World) -> Iterator[None]:
    """Kill a process of PostgreSQL that serves a connection; the server restarts all."""
    assert world.postgresql
    sql = "SELECT pid FROM pg_stat_activity WHERE datname = 'plates' LIMIT 1"
    os.kill(int(world.postgresql.read_sql(sql)), signal.SIGKILL)
    yield


@contextmanager
def kill_postgresql(world: World) -> Iterator[None]:
    """Kill the server of the database with all its processes."""
    assert world.postgresql
    signal_tree(world.postgresql.pid, signal.SIGKILL)
    world.postgresql.kill()
    try:
        yield
    finally:
        world.postgresql.start()


@contextmanager
def suspend_postgresql(world: World) -> Iterator[None]:
    """Stop the server of the database: connections stay open, and nothing answers."""
    assert world.postgresql
    tree = find_tree(world.postgresql.pid)
    for pid in tree:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in tree:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextmanager
def forbid_writes(world: World) -> Iterator[None]:
    """Make the database read-only, like a standby."""
    server = world.postgresql
    assert server
    reload = "SELECT pg_reload_conf()"
    server.run_sql("ALTER SYSTEM SET default_transaction_read_only = on", reload)
    try:
        yield
    finally:
        begin = "SET default_transaction_read_only = off"
        server.run_sql(begin, "ALTER SYSTEM RESET default_transaction_read_only", reload)


@contextmanager
def fill_database_disk(world: World) -> Iterator[None]:
    """Fill the disk of the database. If the server has ended, it is started again at the end."""
    assert world.postgresql
    try:
        with filled(world.postgresql.folder):
            yield
    finally:
        world.postgresql.start()
