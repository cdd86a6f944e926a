"""One client for many threads and processes: connections are shared, kept, renewed and closed."""

import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from orchestrator.client import PlateClient
from orchestrator.client.connections import ConnectionPool
from orchestrator.errors import Overloaded, RequestError, ServerError
from tests.client.certificates import Certificate, over_tls
from tests.client.peers import NO_PLATES, Handle, listening, receive, said

PICTURE = b"a picture"
PYTHON = (sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c")
"""Runs code; from 3.12 on it would warn of each fork, because NumPy has threads."""
BEGINNINGS = (b"H", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{")
"""Incomplete beginnings of an answer."""
WITHOUT_END = struct.pack("ii", 1, 0)
"""Value of SO_LINGER that closes a connection with a reset."""
ENDS = pytest.mark.parametrize("resets", [False, True], ids=["closed", "reset"])


class Server:
    """Counts connections and requests; the nth request of a connection gets the nth answer.

    Attributes:
        answers: Answers to the first requests of a connection.
        goes_on: True to give the last answer to all further requests.
        listens_on: True to take one more request after the answers, before the close.
        resets: True to close the connection with a reset.
    """

    def __init__(
        self, *answers: bytes, goes_on: bool = True, listens_on: bool = True, resets: bool = False
    ) -> None:
        self.answers = answers
        self.goes_on = goes_on
        self.listens_on = listens_on
        self.resets = resets
        self.connections = 0
        self.requests = 0

    def __call__(self, connection: socket.socket) -> None:
        self.connections += 1
        last = self.answers[-1:] if self.goes_on else ()
        for answer in (*self.answers, *last * 1000):
            if not receive(connection):
                return
            self.requests += 1
            connection.sendall(answer)
        if self.listens_on and receive(connection):
            self.requests += 1
        if self.resets:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, WITHOUT_END)


@pytest.fixture
def serve() -> Iterator[Callable[[Handle], PlateClient]]:
    """Start a server; gives a client of it."""
    with ExitStack() as stack:
        yield lambda handle, **options: stack.enter_context(
            PlateClient(stack.enter_context(listening(handle)), timeout_s=20, **options)
        )


def test_a_connection_is_kept_for_the_next_calls(serve) -> None:
    server = Server(NO_PLATES)
    client = serve(server)
    assert [len(client.recognize(PICTURE)) for _ in range(5)] == [0] * 5
    assert (server.connections, server.requests) == (1, 5)


@pytest.mark.parametrize("status", [400, 503])
def test_a_connection_is_kept_after_an_error(serve, status: int) -> None:
    server = Server(said(status, b'{"error": "not so"}'), NO_PLATES)
    client = serve(server)
    with pytest.raises((RequestError, Overloaded), match="not so"):
        client.recognize(PICTURE)
    client.recognize(PICTURE)
    assert server.connections == 1


class Body(bytearray):
    """Bytes that a weak reference can name."""


@pytest.mark.parametrize("calls", [1, 2])
def test_a_kept_connection_keeps_no_body(calls: int) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with listening(Server(answer)) as address:
        host, port = address.split(":")
        pool = ConnectionPool(host, int(port), None)
        for _ in range(calls):
            body = Body(b"a picture")
            pool.urlopen("POST", "/", body, retries=False, timeout=20)
        sent = weakref.ref(body)
        del body
        assert sent() is None
        pool.close()


def test_threads_that_share_a_client_call_at_the_same_time(serve) -> None:
    all_there = threading.Barrier(8, timeout=60)

    def answer_when_all_are_there(connection: socket.socket) -> None:
        while receive(connection):
            all_there.wait()
            connection.sendall(NO_PLATES)

    client = serve(answer_when_all_are_there)
    with ThreadPoolExecutor(8) as threads:
        calls = [threads.submit(client.recognize, PICTURE) for _ in range(80)]
        assert [len(call.result(timeout=60)) for call in calls] == [0] * 80


def test_a_connection_closed_between_calls_is_replaced(serve) -> None:
    server = Server(NO_PLATES, goes_on=False, listens_on=False)
    closed = threading.Event()

    def close_after_one(connection: socket.socket) -> None:
        server(connection)
        connection.close()
        closed.set()

    client = serve(close_after_one)
    client.recognize(PICTURE)
    assert closed.wait(60)
    client.recognize(PICTURE)
    assert (server.connections, server.requests) == (2, 2)


@ENDS
def test_a_call_on_a_kept_connection_that_ends_is_sent_once_more(serve, resets: bool) -> None:
    server = Server(NO_PLATES, goes_on=False, resets=resets)
    client = serve(server)
    client.recognize(PICTURE)
    client.recognize(PICTURE)  # the server takes the request and closes: on a new one it answers
    assert (server.connections, server.requests) == (2, 3)
    assert client.retried == 0


def test_a_call_is_sent_no_more_than_once_more(serve) -> None:
    server = Server(NO_PLATES, goes_on=False)

    def answer_the_first_only(connection: socket.socket) -> None:
        server(connection)
        server.answers = ()

    client = serve(answer_the_first_only)
    client.recognize(PICTURE)
    with pytest.raises(ServerError, match="Remote end closed"):
        client.recognize(PICTURE)
    assert server.requests == 3


def test_a_call_on_a_new_connection_is_not_sent_again(serve) -> None:
    server = Server(goes_on=False)
    with pytest.raises(ServerError, match="Remote end closed"):
        serve(server).recognize(PICTURE)
    assert server.requests == 1


@ENDS
@pytest.mark.parametrize("begin", BEGINNINGS)
def test_a_call_of_whose_answer_a_byte_came_is_not_sent_again(
    serve, begin: bytes, resets: bool
) -> None:
    server = Server(NO_PLATES, begin, goes_on=False, listens_on=False, resets=resets)
    client = serve(server)
    client.recognize(PICTURE)
    with pytest.raises(ServerError, match="wanted an answer, got"):
        client.recognize(PICTURE)
    assert server.requests == 2


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_no_proxy_is_asked(serve, name: str, monkeypatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert len(serve(Server(NO_PLATES)).recognize(PICTURE)) == 0


def test_several_threads_count_their_retries(serve) -> None:
    client = serve(Server(said(503, b'{"error": "full"}')), retries=1)

    def fail(_: int) -> None:
        with pytest.raises(Overloaded):
            client.recognize(PICTURE)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(fail, range(16)))
    assert client.retried == 16


@pytest.mark.parametrize("url", ["127.0.0.1:9", "grpc://127.0.0.1:9"])
def test_a_closed_client_says_so(url: str) -> None:
    client = PlateClient(url, retries=5)
    client.close()
    client.close()
    with pytest.raises(RequestError, match=f"^{url}: the client is closed$"):
        client.recognize(PICTURE)
    with pytest.raises(RequestError, match="the client is closed"):
        client.is_ready()
    assert client.retried == 0


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_client_that_is_closed_meanwhile_says_so(scheme: str) -> None:
    def close_the_client(connection: socket.socket) -> None:
        connection.recv(65536)
        client.close()

    with (
        listening(close_the_client) as address,
        PlateClient(f"{scheme}://{address}", timeout_s=60) as client,
        pytest.raises(RequestError, match=r"the client is closed$"),
    ):
        client.recognize(PICTURE)


FORKING = """
import os, sys
from orchestrator import PlateClient
client = PlateClient(sys.argv[1], timeout_s=20)
client.recognize(b"a picture")
child = os.fork()
if not child:
    client.recognize(b"a picture")
    client.recognize(b"a picture")
    sys.exit(0)
status = os.waitpid(child, 0)[1]
client.recognize(b"a picture")
client.close()
sys.exit(status)
"""

CLOSING = """
import os, sys
from orchestrator import PlateClient
client = PlateClient(sys.argv[1], timeout_s=20)
client.recognize(b"a picture")
child = os.fork()
if not child:
    client.close()
    sys.exit(0)
status = os.waitpid(child, 0)[1]
client.recognize(b"a picture")
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("script", "connections", "requests"),
    [
        pytest.param(FORKING, 2, 4, id="has-one-of-its-own"),
        pytest.param(CLOSING, 1, 2, id="closes-the-client"),
    ],
)
def test_a_forked_child_leaves_the_parents_connection_alone(
    script: str, connections: int, requests: int
) -> None:
    server = Server(NO_PLATES)
    with listening(server) as url:
        done = subprocess.run([*PYTHON, script, url], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert (server.connections, server.requests) == (connections, requests)


def test_a_forked_child_leaves_the_parents_tls_alone(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.chain))
    server = Server(NO_PLATES)
    with listening(over_tls(server, certificate)) as address:
        command = [*PYTHON, FORKING, f"https://{address}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert (server.connections, server.requests) == (2, 4)


CUTTING = """
import os, socket, sys, threading
from orchestrator import PlateClient, RequestError
listener = socket.create_server(("127.0.0.1", 0))
client = PlateClient("grpc://127.0.0.1:%d" % listener.getsockname()[1], timeout_s=600)
threading.Thread(target=client.recognize, args=(b"a picture",), daemon=True).start()
kept, _ = listener.accept()  # and says nothing: the call is under way
child = os.fork()
if not child:
    for call in (lambda: client.recognize(b"a picture"), client.is_ready):
        try:
            call()
        except RequestError as error:
            print(error, flush=True)
    os._exit(0)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_forked_in_the_midst_of_a_grpc_call_is_told_at_once() -> None:
    done = subprocess.run([*PYTHON, CUTTING], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.count("this process was forked while a thread was calling over gRPC") == 2
