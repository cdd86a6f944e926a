"""The output of ab, read as a round of a cell."""

import stat
from pathlib import Path

import pytest

from orchestrator.errors import ServerError
from workshop.benchmarks.load.requests import HttpRequest
from workshop.benchmarks.load.rounds import Cpu
from workshop.benchmarks.peers import ab

OUTPUT = """
Concurrency Level:      4
Time taken for tests:   2.000 seconds
Complete requests:      3
Failed requests:        0
"""
TIMES = (
    "starttime\tseconds\tctime\tdtime\tttime\twait\n"
    "Tue Nov 24 10:00:00 2026\t1795514400\t0\t20\t20\t20\n"
    "Tue Nov 24 10:00:00 2026\t1795514400\t1\t29\t30\t29\n"
    "Tue Nov 24 10:00:01 2026\t1795514401\t0\t55\t55\t54\n"
)


def install(folder: Path, script: str) -> None:
    """Put a program named ab into a folder."""
    program = folder / "ab"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_latencies_come_from_the_table_and_the_time_from_the_text() -> None:
    measured = ab.read_round(OUTPUT, TIMES)
    assert measured.latencies_ms == (20.0, 30.0, 55.0)
    assert (measured.seconds, measured.throughput, measured.errors) == (2.0, 1.5, 0)


def test_failed_and_refused_calls_are_errors() -> None:
    output = OUTPUT.replace("requests:        0", "requests:        1")
    measured = ab.read_round(f"{output}Non-2xx responses:      2\n", TIMES)
    assert (measured.errors, measured.first_error) == (3, "ab counted 3 failed calls")


def test_the_request_is_passed_on_as_often_as_fits_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program here answers three calls in two seconds, however many are wanted."""
    (tmp_path / "output").write_text(OUTPUT)
    (tmp_path / "given").write_text(TIMES)
    line = f'echo "$@" >> {tmp_path}/lines; cat {tmp_path}/output'
    copy = f'case $last in -g) cp {tmp_path}/given "$one";; esac'
    install(tmp_path, f"{line}; for one; do {copy}; last=$one; done")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    readings = iter((Cpu(server=1.0), Cpu(server=1.5)))
    request = HttpRequest("/x", b"body", {"Content-Type": "image/jpeg", "Length": "4"})
    measured = ab.measure("here:1", request, 2, 40.0, usage=lambda: next(readings))
    assert (len(measured.latencies_ms), measured.cpu_s) == (3, Cpu(server=0.5))
    first, second = (tmp_path / "lines").read_text().splitlines()
    assert "-n4 -c2" in first
    assert "-n60 -c2" in second
    assert second.endswith("-T image/jpeg -H Length: 4 http://here:1/x")


def test_without_a_result_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "echo 'apr_socket_connect(): Connection refused (111)' >&2; exit 111")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(ServerError, match=r"ab: wanted a result, got .*Connection refused"):
        ab.measure("here:1", HttpRequest("/", b""), 1, 1.0)


def test_ab_that_is_not_installed_has_no_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ab.find_version() == ""
    install(tmp_path, "echo 'This is ApacheBench, Version 2.3 <$Revision$>'")
    assert ab.find_version() == "2.3"
