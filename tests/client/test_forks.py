"""Clients that were created before a fork, in the parent and in its children."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from orchestrator import AsyncPlateClient, PlateClient
from orchestrator.client.forks import ForkRecord
from tests.client.certificates import PemFiles, over_tls
from tests.client.peers import NO_PLATES, CountingServer, listening

PYTHON = (sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c")
"""Python without its warnings about forks, which 3.12 gives because NumPy has threads."""
FORKING = """
import os, socket, sys, threading
from orchestrator import PlateClient, RequestError

def run_in_child(function):
    child = os.fork()
    if not child:
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

for url in sys.argv[1:]:
    with PlateClient(url, timeout_s=20) as client:
        recognize = lambda: client.recognize(b"a picture")
        recognize()
        statuses = run_in_child(client.close), run_in_child(lambda: (recognize(), recognize()))
        print(*statuses, flush=True)  # a child would print what is not flushed, too
        recognize()

listener = socket.create_server(("127.0.0.1", 0))
client = PlateClient("grpc://127.0.0.1:%d" % listener.getsockname()[1], timeout_s=600)
threading.Thread(target=client.recognize, args=(b"a picture",), daemon=True).start()
connection, _ = listener.accept()  # without a response: the call goes on

def call_over_grpc():
    for call in (lambda: client.recognize(b"a picture"), client.is_ready):
        try:
            call()
        except RequestError as error:
            print(error, flush=True)

print(run_in_child(call_over_grpc), flush=True)
os._exit(0)
"""


@dataclass(frozen=True)
class Forks:
    """The output of the program `FORKING`, and the servers that it called."""

    lines: list[str]
    http: CountingServer
    https: CountingServer


@pytest.fixture(scope="module")
def forks(certificate: PemFiles) -> Iterator[Forks]:
    http, https = CountingServer(NO_PLATES), CountingServer(NO_PLATES)
    with (
        pytest.MonkeyPatch.context() as patch,
        listening(http) as http_url,
        listening(over_tls(https, certificate)) as https_address,
    ):
        patch.setenv("SSL_CERT_FILE", str(certificate.chain))
        command = [*PYTHON, FORKING, http_url, f"https://{https_address}"]
        process = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert process.returncode == 0, process.stderr
        yield Forks(process.stdout.splitlines(), http, https)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_child_has_connections_of_its_own(forks: Forks, scheme: str) -> None:
    """One child closes its client, one sends two calls, and the parent sends one more."""
    server: CountingServer = getattr(forks, scheme)
    assert forks.lines[:2] == ["0 0", "0 0"]
    assert (server.connections, server.requests) == (2, 4)


def test_a_child_forked_during_a_grpc_call_gets_an_error_at_once(forks: Forks) -> None:
    *errors, status = forks.lines[2:]
    assert (len(errors), status) == (2, "0")
    assert all("was forked while a thread was calling over gRPC" in error for error in errors)


def test_a_fork_between_calls_or_after_a_failed_one_leaves_grpc_working() -> None:
    record = ForkRecord()
    with record.record_call():
        pass
    with pytest.raises(ValueError, match="failed"), record.record_call():
        raise ValueError("failed")
    record.note_fork()
    record.check()


@pytest.mark.parametrize("copies", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("make", [PlateClient, AsyncPlateClient])
def test_a_client_is_not_copied_into_another_process(
    make: Callable[[str], object], copies: Callable[[object], object]
) -> None:
    with pytest.raises(TypeError, match=r"^localhost:1: a client cannot be pickled; make one in"):
        copies(make("localhost:1"))
