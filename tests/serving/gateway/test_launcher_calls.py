"""The gateway as a process: answered calls, rejected calls, and its clean end."""

import json
from pathlib import Path

from orchestrator.serving.gateway.options import Limits
from tests.serving.gateway.conftest import Start, answer_of
from tests.serving.gateway.key_files import write_keys
from tests.waiting import until


def test_a_full_service_refuses_with_503(begin: Start) -> None:
    gateway = begin(Limits(calls=1, waiting=1))
    gateway.triton.gate.clear()
    first = gateway.send()
    gateway.triton.asked.acquire(timeout=20)
    second = gateway.send(source="127.0.0.3")
    until(lambda: b"plates_gateway_waiting 1.0" in gateway.metrics(), "a queue")
    status, headers, body = answer_of(gateway.send(source="127.0.0.2"))
    gateway.triton.gate.set()
    assert (status, headers["retry-after"]) == (503, "1")
    assert "error" in json.loads(body)
    assert [answer_of(one)[0] for one in (first, second)] == [200, 200]


def test_an_answer_that_is_late_is_given_up(begin: Start) -> None:
    gateway = begin(Limits(calls=4, call_s=1.0))
    gateway.triton.gate.clear()
    status, _, body = answer_of(gateway.send())
    assert (status, b"within 1 s" in body) == (504, True)
    assert gateway.triton.cancelled.wait(20)


def test_several_processes_share_the_ports(begin: Start) -> None:
    gateway = begin(processes=2)
    ready = [200] * 16  # asked often enough to meet both
    until(lambda: [gateway.ask("GET", "/readyz")[0] for _ in ready] == ready, "both to be ready")
    assert [answer_of(gateway.send())[0] for _ in range(8)] == [200] * 8


def test_without_a_key_nobody_is_answered_where_keys_are_wanted(
    begin: Start, tmp_path: Path
) -> None:
    key = "plates_a-key"
    gateway = begin(keys=write_keys(tmp_path, gate=key), wants_keys=True)
    assert answer_of(gateway.send())[0] == 401
    assert answer_of(gateway.send(Authorization=f"Bearer {key}"))[0] == 200
    assert [gateway.ask("GET", path)[0] for path in ("/metrics", "/healthz")] == [401, 200]
    assert key not in gateway.audit.read_text()


def test_wrong_keys_are_limited_like_calls(begin: Start) -> None:
    gateway = begin(Limits(calls=4, client_rate=3.0))
    tries = [answer_of(gateway.send(Authorization=f"Bearer plates_{n}"))[0] for n in range(6)]
    assert (tries[:3], tries[-1]) == ([401] * 3, 429)
    assert answer_of(gateway.send("127.0.0.9"))[0] == 200
