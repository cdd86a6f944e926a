"""Standard streams of a command that runs for long: it goes on when they are closed or full."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer


def open_closed_streams() -> None:
    """Lead to nowhere what whoever started this has closed.

    The next file or socket would take its place, and child processes write to it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free


def say(message: str, *, err: bool = False) -> None:
    """Print a message; where nobody can read it, neither it nor what comes later is an error."""
    try:
        typer.echo(message, err=err)
    except OSError:  # its reader hung up, or its disk is full; what is buffered fails again
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        if err:
            sys.stderr = nowhere
        else:
            sys.stdout = nowhere
