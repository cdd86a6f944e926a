"""Lines that a watch prints to readers that are slow, closed or full."""

import errno
import io
import json
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from plate_cameras.passes import PassEvent
from plate_cameras.service import printing
from plate_cameras.service.live_table import CameraTable
from plate_cameras.service.pass_table import HEAD, PassTable
from plate_cameras.service.printing import Output, Printer, logging_through
from plate_cameras.watching.status import CameraStatus
from tests.plate_cameras.samples import make_event
from tests.plate_cameras.service.failing_stream import FailingStream


class BlockedStream(io.StringIO):
    """A stream whose writes block until they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.goes_on = threading.Event(), threading.Event()

    def write(self, text: str) -> int:
        self.has_begun.set()
        self.goes_on.wait(10)
        return super().write(text)


@contextmanager
def printing_to(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, name: str = "stdout"
) -> Iterator[Printer]:
    printer = Printer()
    monkeypatch.setattr(sys, name, stream)
    try:
        yield printer
    finally:
        printer.close(10)


def test_lines_are_printed_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer()
    printer.print("first")
    printer.print("second")
    printer.print("told", err=True)
    printer.close(10)
    assert capsys.readouterr() == ("first\nsecond\n", "told\n")
    assert printer.lost == 0


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
        ValueError("I/O operation on closed file"),
        UnicodeEncodeError("ascii", "ё", 0, 1, "ordinal not in range"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_lines_that_cannot_be_printed_are_counted(
    monkeypatch: pytest.MonkeyPatch, error: Exception, name: str
) -> None:
    with printing_to(monkeypatch, FailingStream(error), name) as printer:
        printer.print("a line", err=name == "stderr")
        printer.print("another", err=name == "stderr")
        printer.close(10)
        assert printer.lost == 2


def test_nobody_waits_for_a_reader_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "MAX_WAITING", 2)
    stream = BlockedStream()
    with printing_to(monkeypatch, stream) as printer:
        printer.print("0")
        assert stream.has_begun.wait(10)
        for line in "1234":
            printer.print(line)
        assert printer.lost == 2
        printer.close(0.01)
        stream.goes_on.set()
    assert stream.getvalue() == "0\n1\n2\n"


def test_a_printer_without_a_thread_counts_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    printer = Printer()
    printer.print("a line")
    printer.close()
    assert printer.lost == 1


def table_on(terminal: io.StringIO, reason: str) -> CameraTable:
    console = Console(file=terminal, force_terminal=True, width=80, legacy_windows=False)
    gate = CameraStatus("gate", "playing", 10, 7, 3, "A123BC77", 5, 0.33, 0.2, 1, reason)
    return CameraTable(lambda: [gate], console)


def test_lines_stand_above_the_table() -> None:
    terminal = io.StringIO()
    printer = Printer(table_on(terminal, ""))
    printer.start()
    printer.print("[red] a message, not markup", err=True)
    printer.close(10)
    lines = terminal.getvalue().splitlines()
    (line,) = (line for line in lines if "a message" in line)
    assert line.endswith("[red] a message, not markup")
    assert "gate" not in line
    assert any("playing" in line for line in lines)


def test_a_long_reason_takes_no_width_from_the_table() -> None:
    terminal = io.StringIO()
    table = table_on(terminal, "why " * 60)
    table.start()
    table.stop()
    lines = [Text.from_ansi(line).plain for line in terminal.getvalue().splitlines()]
    row = next(line for line in lines if "A123BC77" in line)
    assert row.split() == ["gate", "playing", "A123BC77", "3", "10", "33%", "0.2", "s"]
    assert any(line.startswith("gate: why") and len(line) <= 80 for line in lines)


@pytest.mark.parametrize(
    ("has_pipe", "is_drawn"),
    [pytest.param(True, False, id="a program"), pytest.param(False, True, id="a file")],
)
def test_no_table_is_drawn_where_another_program_prints(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_pipe: bool, is_drawn: bool
) -> None:
    """As `plates watch | tee passes.txt`: lines of tee would stand behind the last camera."""
    monkeypatch.setenv("TERM", "xterm")
    reader, writer = os.pipe()
    terminal_reader, terminal = os.openpty()
    with (
        os.fdopen(writer, "w") as pipe,
        os.fdopen(terminal, "w") as screen,
        (tmp_path / "f").open("w") as file,
    ):
        monkeypatch.setattr(sys, "stdout", pipe if has_pipe else file)
        monkeypatch.setattr(sys, "stderr", screen)
        output = Output(PassTable(is_json=False, is_all=False), list, has_live_table=True)
        output.printer.start()
        output.printer.close(10)
        screen.write("the end")
        screen.flush()
        output_bytes = b""
        while b"the end" not in output_bytes:  # a terminal hands on each write by itself
            output_bytes += os.read(terminal_reader, 10_000)
    os.close(reader)
    os.close(terminal_reader)
    assert (b"last plate" in output_bytes) is is_drawn


def test_a_table_that_cannot_be_drawn_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(file=FailingStream(OSError(errno.EIO, "gone")), force_terminal=True)
    printer = Printer(CameraTable(list, console))
    printer.print("a pass")
    printer.close(10)
    assert capsys.readouterr().out == "a pass\n"


def test_the_log_is_printed_by_the_printer(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, printer = BlockedStream(), Printer()
    monkeypatch.setattr(sys, "stderr", stream)
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    try:
        with logging_through(printer):
            logging.getLogger("cameras").error("the camera %s is away", "gate")
            stream.goes_on.set()
            printer.close(10)
        assert handler in logging.getLogger().handlers
    finally:
        logging.getLogger().removeHandler(handler)
    assert stream.getvalue() == "the camera gate is away\n"


def test_a_pass_that_cannot_be_formatted_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class BrokenTable(PassTable):
        def to_lines(self, event: object) -> Iterator[str]:
            raise OverflowError("timestamp out of range")

    output = Output(BrokenTable(is_json=False, is_all=False), list, has_live_table=False)
    output.show_event(make_event())
    assert "a pass of gate cannot be printed" in caplog.text


def to_lines(table: PassTable, *events: PassEvent) -> list[str]:
    return [line for event in events for line in table.to_lines(event)]


def of_a_file(event: PassEvent) -> PassEvent:
    return replace(event, vehicle_pass=replace(event.vehicle_pass, clock="file", first_seen_s=61.4))


def test_a_pass_has_one_line_when_it_is_over() -> None:
    table = PassTable(is_json=False, is_all=False)
    lines = to_lines(table, make_event("agreed"), of_a_file(make_event()), make_event(id_="2"))
    assert lines[:2] == [
        HEAD,
        "0:01:01              A123BC77    0.97  towards       1  gate",
    ]
    assert len(lines) == 3
    assert lines[2][:4].isdecimal()  # a date
    assert all(len(line) <= 80 for line in lines)
    assert table.summarize() == "2 passes"


def test_what_cannot_be_read_is_counted_and_shown_if_wanted() -> None:
    table = PassTable(is_json=False, is_all=False)
    assert to_lines(table, make_event(text="")) == []
    assert table.summarize() == "0 passes, and 1 whose plate cannot be read"
    every = PassTable(is_json=False, is_all=True)
    assert to_lines(every, of_a_file(make_event(text="")))[1].split()[1] == "?"


def test_every_event_is_a_line_of_json() -> None:
    table = PassTable(is_json=True, is_all=False)
    lines = to_lines(table, make_event("agreed"), make_event("closed"))
    documents = [json.loads(line) for line in lines]
    assert [document["type"] for document in documents] == ["pass.agreed", "pass.closed"]
    assert table.summarize() == "1 pass"


def test_control_characters_of_names_do_not_reach_the_terminal() -> None:
    table = PassTable(is_json=False, is_all=False)
    assert "\x1b" not in "".join(to_lines(table, make_event(camera="gate\x1b[2J")))
