"""Callers in a process of their own, against a server that answers every second call."""

import itertools
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from workshop.benchmarks.gateway.__main__ import show_costs
from workshop.benchmarks.gateway.measurement import BARE, GATEWAY, Cell, run_callers
from workshop.benchmarks.load.requests import HttpRequest
from workshop.benchmarks.load.rounds import Round
from workshop.benchmarks.pooling import pool

STATUSES = itertools.cycle((200, 503))


class Busy(BaseHTTPRequestHandler):
    """Answers one call and refuses the next one."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(next(STATUSES))
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_answers_and_refusals_of_callers_in_another_process_are_counted() -> None:
    with HTTPServer(("127.0.0.1", 0), Busy) as server, run_callers() as measure:
        Thread(target=server.serve_forever).start()
        address = f"127.0.0.1:{server.server_port}"
        measured = measure(address, HttpRequest("/", b"x"), 2, 0.2)
        server.shutdown()
    assert len(measured.latencies_ms) > 0
    assert measured.refused == measured.unanswered > 0
    assert measured.errors == 0


def test_the_gateway_is_compared_with_the_bare_server() -> None:
    rounds = {BARE: Round(1.0, (10.0,) * 4), GATEWAY: Round(1.0, (12.5,) * 3)}
    costs = {Cell("street", 4, name): pool([one]) for name, one in rounds.items()}
    assert show_costs(costs).splitlines()[-1] == "| street | 4 | 4.0 | 3.0 | 0.75 | 2.5 |"
