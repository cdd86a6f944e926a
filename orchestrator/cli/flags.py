"""The parts that the commands of `plates` share: options, logging and error messages."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from orchestrator.cli.standard_streams import say
from orchestrator.errors import PlateError
from orchestrator.host.distribution import needs_told
from orchestrator.networks.options import CudaGraphsOption as CudaGraphsOption
from orchestrator.networks.options import CudaPoolOption as CudaPoolOption
from orchestrator.networks.options import DecodeOnGpuOption as DecodeOnGpuOption
from orchestrator.networks.options import Device as Device
from orchestrator.networks.options import DeviceOption as DeviceOption
from orchestrator.networks.options import EngineOption as EngineOption
from orchestrator.networks.options import FormatsOption as FormatsOption
from orchestrator.networks.options import InstancesOption as InstancesOption
from orchestrator.networks.options import MpsOption as MpsOption
from orchestrator.networks.options import PicturesOnCpuOption as PicturesOnCpuOption
from orchestrator.networks.options import PicturesOption as PicturesOption
from orchestrator.networks.options import RepositoryOption as RepositoryOption
from orchestrator.networks.options import ThreadsOption as ThreadsOption
from orchestrator.networks.options import WeightsOption as WeightsOption

PLATES_PANEL = "Which plates"
QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print only results and errors; no table beside files of results."
    ),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show the server's log.")]
DetectionThresholdOption = Annotated[
    float | None,
    typer.Option(
        "--detection-threshold",
        rich_help_panel=PLATES_PANEL,
        help="Least score of a plate that is found, 0 to 1; the server's own without.",
    ),
]
TextThresholdOption = Annotated[
    float | None,
    typer.Option(
        "--text-threshold",
        rich_help_panel=PLATES_PANEL,
        help="Least score of a text that is shown, 0 to 1; the server's own without.",
    ),
]
RoiOption = Annotated[
    str | None,
    typer.Option(
        "--roi",
        metavar="X0,Y0,X1,Y1",
        rich_help_panel=PLATES_PANEL,
        help="Look only at plates whose middle lies in this part of a picture, in pixels.",
    ),
]
SideOption = Annotated[
    int | None,
    typer.Option(
        "--detector-side-px",
        rich_help_panel=PLATES_PANEL,
        help="How closely to look: longest side of the detector's input, a multiple of 32.",
    ),
]
MaxPlatesOption = Annotated[
    int | None,
    typer.Option("--max-plates", rich_help_panel=PLATES_PANEL, help="Most plates a picture."),
]


@contextmanager
def show_errors(*, verbose: bool, quiet: bool = False) -> Iterator[None]:
    """Show our errors as one sentence, set up logging, and treat other stop signals as Ctrl-C."""
    usual = logging.ERROR if quiet else logging.WARNING
    logging.basicConfig(
        level=logging.DEBUG if verbose else usual, format="%(message)s", stream=sys.stderr
    )
    if not quiet:  # an export takes long, so it is reported, although others of this level are not
        logging.getLogger("orchestrator.serving.supervisor.models").setLevel(logging.INFO)
    # A shell starts background jobs without SIGINT; closing a terminal sends SIGHUP.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with needs_told():
            yield
    except PlateError as error:
        say(f"plates: {error}", err=True)
        raise typer.Exit(2) from error
