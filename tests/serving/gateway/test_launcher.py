"""The gateway's processes, with small programs in their place."""

import errno
import json
import logging
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.contract import SHM
from orchestrator.errors import ServerError
from orchestrator.host.heartbeat import State
from orchestrator.serving.gateway import gateway_process, launcher
from orchestrator.serving.gateway.launcher import MAX_RESTARTS, Gateway, start
from orchestrator.serving.gateway.options import Address, GatewayOptions
from orchestrator.serving.protocol.gateway_events import TritonMoved, event_from_json
from orchestrator.serving.supervisor.ports import free_ports
from tests.waiting import until

LISTENS = """
import json, os, resource, signal, socket, sys
options = json.loads(sys.stdin.readline())
servers = []
for name in ("http", "grpc", "metrics"):
    if options[name]:
        family = socket.AF_INET6 if ":" in options[name]["host"] else socket.AF_INET
        server = socket.socket(family)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        server.bind((options[name]["host"], options[name]["port"]))
        server.listen()
        servers.append(server)
about = {
    "cores": resource.getrlimit(resource.RLIMIT_CORE),
    "key": os.environ.get("PLATES_ADMIN_KEY"),
    "folder": os.getcwd(),
    "session": os.getsid(0) == os.getpid(),
}
with open(os.path.join(os.path.dirname(options["audit"]), str(os.getpid())), "w") as file:
    json.dump(about, file)
"""
ENDS_WHEN_TOLD = LISTENS + "signal.pause()"
READS_EVENTS = f"""
import faulthandler
from orchestrator.host.heartbeat import ASK
faulthandler.register(ASK)
{LISTENS}
def loop_for_ever():
    while True:
        pass
sys.stdin.readline()
try:
    open(os.path.join(os.path.dirname(options["audit"]), "hung"), "x").close()
    loop_for_ever()
except FileExistsError:  # another process hangs
    for line in sys.stdin:
        pass
"""
NEVER_ENDS = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + (
    LISTENS + "while True: signal.pause()"
)


@pytest.fixture
def options(tmp_path: Path) -> GatewayOptions:
    http, grpc, metrics = free_ports(3)
    return GatewayOptions(
        http=Address("0.0.0.0", http),
        grpc=Address("::1", grpc),
        metrics=Address("127.0.0.1", metrics),
        audit=tmp_path / "audit",
        processes=2,
    )


@pytest.fixture
def gateway(options: GatewayOptions, monkeypatch) -> Iterator[Gateway]:
    monkeypatch.setenv("PLATES_ADMIN_KEY", "gate")
    running = start(options, [sys.executable, "-c", ENDS_WHEN_TOLD])
    yield running
    running.stop(timeout_s=0)


def exit_codes(gateway: Gateway) -> list[int | None]:
    return [worker.process.returncode for worker in gateway.workers]


def pids(gateway: Gateway) -> list[int]:
    return [worker.process.pid for worker in gateway.workers]


def test_as_many_processes_run_as_were_asked_for_and_end_when_told(
    gateway: Gateway, tmp_path: Path
) -> None:
    """The processes get no secrets, write no core dumps, and have their own sessions."""
    assert gateway.monitor()
    assert gateway.counts.folder.parent == SHM
    until(lambda: [file.stat().st_size > 0 for file in tmp_path.iterdir()] == [True] * 2, "both")
    assert {int(file.name) for file in tmp_path.iterdir()} == {*pids(gateway)}
    about = {"cores": [1, 1], "key": None, "folder": str(launcher.PACKAGES), "session": True}
    assert [json.loads(file.read_text()) for file in tmp_path.iterdir()] == [about] * 2
    gateway.stop()
    assert not gateway.monitor()
    assert exit_codes(gateway) == [-signal.SIGTERM] * 2
    gateway.stop()  # as often as one likes


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_is_lost_is_replaced_beside_the_others(
    gateway: Gateway, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    first, second = pids(gateway)
    gateway.workers[1].process.send_signal(number)
    until(lambda: gateway.monitor() and pids(gateway)[1] != second, "another process")
    assert pids(gateway)[0] == first
    assert "one of the gateway's processes is replaced" in caplog.text
    gateway.wait_until_listening()


def test_a_process_whose_event_loop_hangs_is_replaced(
    options: GatewayOptions, monkeypatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gateway_process, "HANG_S", 0.5)
    gateway = start(options, [sys.executable, "-c", READS_EVENTS])
    before = {*pids(gateway)}
    try:
        until(lambda: gateway.monitor() and {*pids(gateway)} != before, "another process")
        assert len(before & {*pids(gateway)}) == 1
        assert "of the gateway is ended: hung for " in caplog.text
        assert "in loop_for_ever" in caplog.text
    finally:
        gateway.stop(timeout_s=0)


def test_a_process_that_starts_does_not_hang(gateway: Gateway) -> None:
    """It reads its events later."""
    assert {gateway.workers[0].beat().state for _ in range(9)} == {State.IDLE}


MOVED = TritonMoved("127.0.0.1:1", "127.0.0.1:2", "http://127.0.0.1:3/metrics")


def test_a_process_that_replaces_another_knows_where_triton_is(
    gateway: Gateway, tmp_path: Path
) -> None:
    gateway.send(MOVED)
    file = tmp_path / "told"
    code = (
        "import signal, sys\nlines = [sys.stdin.readline() for _ in '12']\n"
        f"open({str(file)!r}, 'w').write(lines[1])\nsignal.pause()"
    )
    gateway.command = [sys.executable, "-c", code]
    process = gateway.workers[1].process
    process.kill()
    process.wait()
    assert gateway.monitor()
    until(lambda: file.exists() and file.read_text(), "an event")
    assert event_from_json(file.read_text()) == MOVED


def test_a_gateway_without_any_of_its_processes_must_be_restarted(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    for worker in gateway.workers:
        worker.process.kill()
    for worker in gateway.workers:
        worker.process.wait()
    assert not gateway.monitor()
    assert caplog.messages == [
        f"process {pid} of the gateway ended: it left no message (exit status -9)"
        for pid in pids(gateway)
    ]


def test_a_process_that_ends_again_and_again_leaves_the_others_alone(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = pids(gateway)
    tried_pids = {second}

    def has_given_up() -> bool:
        assert gateway.monitor()
        tried_pids.add(pids(gateway)[1])
        return len(tried_pids) > MAX_RESTARTS and not gateway.workers[1].is_running()

    command, gateway.command = gateway.command, [sys.executable, "-c", "raise SystemExit(3)"]
    gateway.workers[1].process.kill()
    until(has_given_up, "the last attempt")
    assert gateway.monitor()
    assert pids(gateway)[0] == first
    assert pids(gateway)[1] in tried_pids
    gateway.send(MOVED)
    gateway.command = command
    monkeypatch.setattr(launcher, "RESTARTS_S", 0.0)  # it is later
    until(lambda: gateway.monitor() and gateway.workers[1].is_running(), "another attempt")


def test_what_does_not_end_is_killed_and_what_it_said_is_shown(options, caplog) -> None:
    code = f"import sys; print('no IPv6 here', file=sys.stderr)\n{NEVER_ENDS}"
    with caplog.at_level(logging.WARNING):
        gateway = start(replace(options, processes=1), [sys.executable, "-c", code])
        gateway.stop(timeout_s=0)
        until(lambda: caplog.messages, "what it said")
    assert exit_codes(gateway) == [-signal.SIGKILL]
    assert caplog.messages == ["no IPv6 here"]


SAYS = "import sys; print('{}', file=sys.stderr); sys.exit('{}')"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([sys.executable, "-c", SAYS.format("Traceback", "gateway: no such file")], "no such file"),
        ([sys.executable, "-c", SAYS.format("first", "second")], "first second"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "it left no message (exit status 3)"),
        (["/nowhere"], "/nowhere cannot be run: No such file or directory"),
    ],
    ids=["a sentence", "lines", "nothing", "no program"],
)
def test_a_process_that_ends_is_told_once(
    options: GatewayOptions, caplog, command: list[str], message: str
) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(ServerError) as raised:
        start(options, command)
    reason = message if command == ["/nowhere"] else f"ended while starting: {message}"
    assert str(raised.value) == f"gateway: {reason}"
    assert caplog.messages == []


def test_processes_that_run_are_ended_when_another_cannot_be(options, monkeypatch) -> None:
    processes: list[launcher.GatewayProcess] = []
    folders: list[Path] = []

    def launch(command, options, counts, launch=launcher.launch) -> launcher.GatewayProcess:
        if processes:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")
        processes.append(launch(command, options, counts))
        folders.append(counts.folder)
        return processes[0]

    monkeypatch.setattr(launcher, "launch", launch)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        start(options, [sys.executable, "-c", ENDS_WHEN_TOLD])
    assert not processes[0].is_running()
    assert not folders[0].exists()


def test_a_gateway_that_does_not_listen_is_given_up(gateway: Gateway) -> None:
    (port,) = free_ports(1)
    elsewhere = replace(gateway, options=replace(gateway.options, http=Address("127.0.0.1", port)))
    with pytest.raises(ServerError, match=f"^gateway: does not listen at 127.0.0.1:{port} within"):
        elsewhere.wait_until_listening(timeout_s=0)
