"""The audit log: one line for each call, which callers cannot forge. No call fails without it."""

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway.ops.audit import Audit, CallEntry, line_of
from tests.samples import PROJECT
from tests.virtual_time import Clock

ENTRY = CallEntry("key:north", "infer", "plate_recognition", "7", 200, "ok", 12.34, 1024, 2)
NOON = 1795348800.5  # 2026-11-22T12:00:00.5Z


def lines_of(file: Path) -> list[str]:
    return [json.loads(line)["client"] for line in file.read_text().splitlines()]


def test_a_line_names_client_request_outcome_and_time_for_the_file_s_owner(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    before = os.umask(0)
    audit = Audit(file, now=lambda: NOON)
    os.umask(before)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"", 0o600)
    assert audit.write(ENTRY) is True
    audit.close()
    assert json.loads(file.read_text()) == {
        "time": "2026-11-22T12:00:00.500+00:00",
        "client": "key:north",
        "what": "infer",
        "model": "plate_recognition",
        "id": "7",
        "status": 200,
        "reason": "ok",
        "ms": 12.3,
        "bytes": 1024,
        "plates": 2,
    }


@pytest.mark.parametrize(
    "text",
    ["a\nb", "a\r\nb", "\u2028b", '"}\n{"client": "x"}', "\x00\x1b[2J", "\ud800", "é" * 3],
)
def test_a_callers_text_never_makes_another_line(text: str) -> None:
    line = line_of(CallEntry("a", kind=text, id=text), NOON)
    assert (line.count(b"\n"), len(line.decode("ascii").splitlines())) == (1, 1)
    assert (json.loads(line)["id"], json.loads(line)["what"]) == (text, text)


def test_a_callers_texts_are_cut_off() -> None:
    worst = "\U0001f600" * 1_000_000  # twelve signs each in JSON
    line = line_of(CallEntry("2001:db8:1:2::/64", worst, worst, worst, reason="not served"), NOON)
    assert len(line) <= 4096
    assert len(json.loads(line)["id"]) == 100


def test_several_writers_share_a_file(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_bytes(line_of(CallEntry("before", "infer"), NOON))
    with closing(Audit(file)) as first, closing(Audit(file)) as second:
        first.write(CallEntry("one", "infer"))
        second.write(CallEntry("other", "infer"))
        first.write(CallEntry("one", "infer"))
    assert lines_of(file) == ["before", "one", "other", "one"]


@pytest.mark.parametrize("is_made_anew", [True, False])
def test_a_file_that_was_moved_away_is_opened_anew(tmp_path: Path, *, is_made_anew: bool) -> None:
    file, old, clock = tmp_path / "audit.jsonl", tmp_path / "audit.1", Clock(0.0)
    audit = Audit(file, clock)
    audit.write(CallEntry("first", "infer"))
    file.rename(old)
    file.open("ab" if is_made_anew else "xb").close()
    clock.now_s = 0.9
    audit.write(CallEntry("soon", "infer"))
    clock.now_s = 1.0
    audit.write(CallEntry("later", "infer"))
    assert (lines_of(old), lines_of(file)) == (["first", "soon"], ["later"])
    audit.close()


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="audit: wanted a file to write to, got No such file"):
        Audit(tmp_path / "none" / "audit.jsonl")


def test_a_pipe_is_opened_without_its_reader_and_holds_no_call_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with closing(Audit(tmp_path / "pipe")) as audit:
        assert audit.write(CallEntry("first", "infer"))
        reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        assert b'"client": "first"' in os.read(reader, 4096)
        assert not all(audit.write(ENTRY) for _ in range(10_000))
    os.close(reader)


def test_lines_without_a_folder_are_lost_until_it_is_back(tmp_path: Path) -> None:
    file, clock = tmp_path / "kept" / "audit.jsonl", Clock(0.0)
    file.parent.mkdir()
    audit = Audit(file, clock)
    shutil.rmtree(file.parent)
    clock.now_s = 1.0
    assert [audit.write(ENTRY), audit.write(ENTRY)] == [False, False]
    file.parent.mkdir()
    assert audit.write(CallEntry("later", "infer"))
    assert lines_of(file) == ["later"]
    audit.close()


def test_a_full_disk_loses_lines_and_says_so_once_until_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, clock = tmp_path / "audit.jsonl", Clock(0.0)
    file.symlink_to("/dev/full")
    audit = Audit(file, clock)
    assert [audit.write(ENTRY), audit.write(ENTRY)] == [False, False]
    assert caplog.messages == [f"the audit loses lines: {file}: No space left on device"]
    file.unlink()
    clock.now_s = 1.0
    assert audit.write(ENTRY) is True
    file.unlink()
    file.symlink_to("/dev/full")
    clock.now_s = 2.0
    assert audit.write(ENTRY) is False
    assert len(caplog.messages) == 2
    audit.close()


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit the size of all files that this process writes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    audit = Audit(file)
    with largest_file(50):
        assert audit.write(CallEntry("cut", "infer")) is False
    assert audit.write(CallEntry("whole", "infer")) is True
    cut, whole = file.read_text().splitlines()
    assert (len(cut), json.loads(whole)["client"]) == (50, "whole")
    audit.close()


START = """
import os, sys
from orchestrator.serving.gateway.ops.audit import Audit, CallEntry
audit = Audit(None)
"""
PIPE = "gone, full = os.pipe()\nos.dup2(full, 1)\n"
LINE = "audit.write(CallEntry('a', 'infer'))"


@pytest.mark.parametrize(
    ("code", "lines", "message"),
    [
        pytest.param(f"{LINE}\naudit.close()", 1, "", id="a reader"),
        pytest.param(f"{PIPE}os.close(gone)\nassert not {LINE}", 0, "Broken pipe", id="it hung up"),
        pytest.param(
            f"os.close(1)\nsys.stdout = None\naudit = Audit(None)\nassert not {LINE}",
            0,
            "Bad file descriptor",
            id="closed",
        ),
        pytest.param(f"{PIPE}while {LINE}: pass", 0, "its reader is too slow", id="slow"),
    ],
)
def test_without_a_file_lines_go_to_standard_output_whose_reader_fails_no_call(
    code: str, lines: int, message: str
) -> None:
    child = subprocess.run(
        [sys.executable, "-c", START + code],
        cwd=PROJECT,
        capture_output=True,
        check=True,
        text=True,
    )
    assert [json.loads(line)["client"] for line in child.stdout.splitlines()] == ["a"] * lines
    assert child.stderr == (message and f"the audit loses lines: standard output: {message}\n")


def test_a_terminal_that_nobody_reads_fails_no_call() -> None:
    reading, terminal = os.openpty()
    code = f"{START}while {LINE}: pass"
    with os.fdopen(reading), os.fdopen(terminal) as stdout:
        child = subprocess.run(
            [sys.executable, "-c", code], stdout=stdout, stderr=-1, check=True, timeout=30
        )
    assert child.stderr.startswith(b"the audit loses lines: standard output: ")
