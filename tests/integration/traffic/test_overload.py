"""A full server rejects calls at once, and answers all calls that it has accepted."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from orchestrator import PlateClient
from orchestrator.errors import Overloaded
from orchestrator.serving.supervisor.local_server import on_free_ports, prepare
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_server import Server
from orchestrator.serving.supervisor.triton_start import run_server
from tests.integration.conftest import GREY
from tests.integration.gate import Gate, gated, pending
from tests.waiting import until

IN_WORK, QUEUE = 2, 64


def call(url: str) -> int | str:
    """Return the number of plates, or the error message."""
    with PlateClient(url, timeout_s=60) as client:
        try:
            return len(client.recognize(GREY, request_id="crowd"))
        except Overloaded as error:
            return str(error)


@contextmanager
def filled(server: Server, gate: Gate, urls: list[str]) -> Iterator[list[Future[int | str]]]:
    """Fill the server: hold the greatest number of calls in work and in the queue."""
    with ThreadPoolExecutor(IN_WORK + QUEUE) as pool:
        try:
            calls = [pool.submit(call, url) for url in urls]
            until(lambda: gate.waiting() == IN_WORK, f"{IN_WORK} calls in work")
            calls += [pool.submit(call, url) for url in islice(cycle(urls), QUEUE)]
            until(lambda: pending(server) == QUEUE, f"{QUEUE} calls in the queue")
            yield calls
        finally:
            gate.open()


def test_a_call_that_finds_the_queue_full_is_refused_at_once_and_all_others_answered(
    tmp_path: Path,
) -> None:
    gate = Gate(tmp_path)
    options = replace(on_free_ports(prepare(ServerOptions(device="cpu"))), pictures=IN_WORK)
    urls = [options.http_url, f"grpc://{options.grpc_url}"]
    with run_server(options, partial(gated, gate=gate)) as server:
        with filled(server, gate, urls) as calls:
            refused = [call(url) for url in urls]
            assert refused == ["Exceeds maximum queue size (request crowd)"] * 2
            assert not any(one.done() for one in calls)
            gate.open()
            assert [one.result() for one in calls] == [0] * (IN_WORK + QUEUE)
        assert [call(url) for url in urls] == [0, 0]
