"""Standard streams of a command, which continues when they are closed or full."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import typer


def open_closed_streams() -> None:
    """Open the null device for each standard stream that is closed.

    Else the next file or socket would take its number, and results or child processes would write
    to it. A closed standard input is an empty one.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest free number
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, encoding="utf-8")


def check_output() -> None:
    """Check that results can be shown: Python discards what is printed to a closed output.

    Raises:
        OSError: Standard output is closed.
    """
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")


def say(message: str, *, err: bool = False) -> None:
    """Print a message; if nobody can read it, neither it nor a later message is an error."""
    try:
        typer.echo(message, err=err)
    except OSError:  # the reader is gone, or the disk is full; a flush would fail again
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        if err:
            sys.stderr = nowhere
        else:
            sys.stdout = nowhere


def discard_output() -> str:
    """Discard what is still to be written to standard output, which is full; return its name.

    Else Python would try once more at its end, and fail.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return "standard output"
