"""The parts that the commands of `plates` share: options, logging and error messages."""

from __future__ import annotations

import errno
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from orchestrator.cli.standard_streams import discard_output, say
from orchestrator.errors import PlateError
from orchestrator.host.distribution import explain_missing_package
from orchestrator.networks.options import Device as Device
from orchestrator.networks.options import DeviceOption as DeviceOption
from orchestrator.networks.options import EngineOption as EngineOption
from orchestrator.networks.options import FormatsOption as FormatsOption
from orchestrator.networks.options import ThreadsOption as ThreadsOption
from orchestrator.networks.options import WeightsOption as WeightsOption

PLATES_PANEL = "Which plates"
QuietOption = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print only results and errors; no table beside drawings."),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show the server's log.")]
PLATES = partial(typer.Option, rich_help_panel=PLATES_PANEL)
TextThresholdOption = Annotated[
    float | None,
    PLATES(
        "--text-threshold",
        help="Lowest score of a text that is shown, 0 to 1; default: the server's.",
    ),
]


@dataclass(frozen=True)
class SearchOptions:
    """Parameters of a call: how sure a plate must be, and how many."""

    detection_threshold: Annotated[
        float | None,
        PLATES(help="Lowest score of a plate, 0 to 1; default: the server's."),
    ] = None
    text_threshold: TextThresholdOption = None
    max_plates: Annotated[int | None, PLATES(help="Largest number of plates of a picture.")] = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that were given."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class CallOptions(SearchOptions):
    """All parameters of a call."""

    roi: Annotated[
        str | None,
        PLATES(
            metavar="X0,Y0,X1,Y1",
            help="Read only plates whose middle lies in this part of a picture, in pixels.",
        ),
    ] = None
    detector_side_px: Annotated[
        int | None,
        PLATES(help="Longest side of the detector's input, a multiple of 32."),
    ] = None


REPORTING = ("orchestrator.cli.startup", "orchestrator.serving.supervisor.models")
"""Loggers whose messages of level INFO are shown: what they do takes long."""


@contextmanager
def show_errors(*, verbose: bool, quiet: bool = False) -> Iterator[None]:
    """Show our errors as one sentence, set up logging, and treat other stop signals as Ctrl-C."""
    usual = logging.ERROR if quiet else logging.WARNING
    logging.basicConfig(
        level=logging.DEBUG if verbose else usual, format="%(message)s", stream=sys.stderr
    )
    if not quiet:
        for name in REPORTING:
            logging.getLogger(name).setLevel(logging.INFO)
    # A shell starts background jobs without SIGINT; closing a terminal sends SIGHUP.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with explain_missing_package():
            yield
    except PlateError as error:
        say(f"plates: {error}", err=True)
        raise typer.Exit(2) from error
    except OSError as error:
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        name = error.filename or discard_output()
        say(f"plates: {name}: cannot be used: {error.strerror}", err=True)
        raise typer.Exit(2) from error
