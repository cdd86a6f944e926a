"""The line of the log about a worker that died or was killed because it hung."""

import json

import pytest

from orchestrator.host.heartbeat import Beat, State
from orchestrator.serving.supervisor.monitoring.worker_monitor import CrashReport

BUSY = Beat(State.WORKING, 1.0, 2.5, ("gate-7#1f-2",), "640x480")


def test_the_line_says_which_worker_how_and_with_what() -> None:
    report = CrashReport(
        "stn", 7, "SIGSEGV", BUSY, "Fatal Python error", [str(number) for number in range(20)]
    )
    line = json.loads(report.to_json())
    assert line.pop("time").startswith("20")
    assert line == {
        "event": "worker died",
        "model": "stn",
        "pid": 7,
        "how": "SIGSEGV",
        "doing": "working",
        "request_ids": ["gate-7"],
        "picture": "640x480",
        "stack": "Fatal Python error",
        "last_lines": [str(number) for number in range(12, 20)],
    }


def test_an_idle_worker_had_no_call() -> None:
    line = json.loads(CrashReport("stn", 7, "SIGKILL", Beat(State.IDLE, calls=("old",))).to_json())
    assert (line["doing"], line["request_ids"], line["picture"]) == ("idle", [], "")


@pytest.mark.parametrize(
    ("reason", "state", "is_suspect"),
    [
        pytest.param("SIGSEGV", State.WORKING, True, id="crash"),
        pytest.param("hung for 2.5 s", State.WORKING, True, id="hang"),
        pytest.param("exit status 1", State.WORKING, True, id="exit"),
        pytest.param("SIGSEGV", State.WAITING, False, id="while another model worked"),
        pytest.param("SIGSEGV", State.IDLE, False, id="between calls"),
        pytest.param("SIGKILL", State.WORKING, False, id="killed"),
        pytest.param("stopped", State.WORKING, False, id="stopped"),
    ],
)
def test_a_request_is_a_suspect_of_what_requests_can_cause(
    reason: str, state: State, is_suspect: bool
) -> None:
    report = CrashReport("stn", 7, reason, Beat(state, calls=("a#1-1",)))
    assert report.suspects == (("a#1-1",) if is_suspect else ())
