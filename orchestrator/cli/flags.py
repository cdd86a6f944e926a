"""What the commands of `plates` share: options, logging, and errors as one sentence."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.errors import PlateError
from orchestrator.extras import needs_told
from orchestrator.networks.engines import Engine


class Device(str, Enum):
    """Where the networks run."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


RepositoryOption = Annotated[
    Path | None,
    typer.Option("--model-repository", help="Model repository to serve; ours or any other."),
]
WeightsOption = Annotated[Path | None, typer.Option("--weights", help="Folder of the weights.")]
FormatsOption = Annotated[
    Path | None,
    typer.Option(
        "--formats",
        envvar="PLATE_FORMATS",
        help="What plates may say, in the alphabet of the weights; without, what lies beside them.",
    ),
]
DeviceOption = Annotated[Device, typer.Option(help="GPU where there is one, or insist.")]
EngineOption = Annotated[
    Engine, typer.Option(help="What runs the networks; auto: what is fastest on this machine.")
]
ThreadsOption = Annotated[
    int, typer.Option(min=0, help="CPU threads of one inference; 0: what fits the machine.")
]
PicturesOption = Annotated[
    int, typer.Option(min=0, max=64, help="Pictures in work at once; 0: what fits the machine.")
]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="0: any free port.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show the server's log.")]
DetectionThresholdOption = Annotated[
    float | None, typer.Option("--detection-threshold", help="In [0, 1].")
]
TextThresholdOption = Annotated[float | None, typer.Option("--text-threshold", help="In [0, 1].")]
SideOption = Annotated[
    int | None,
    typer.Option(
        "--detector-side-px",
        help="How closely to look: longest side of the detector's input, a multiple of 32.",
    ),
]
MaxPlatesOption = Annotated[int | None, typer.Option("--max-plates", help="Most plates a picture.")]


@contextmanager
def show_errors(*, verbose: bool) -> Iterator[None]:
    """Show our errors as one sentence, set up logging, and end when told to as on Ctrl-C."""
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.WARNING, format="%(message)s", stream=sys.stderr
    )
    # An export takes its time: who waits is told, though other messages of this kind are not shown.
    logging.getLogger("orchestrator.server.repository").setLevel(logging.INFO)
    # A shell starts background jobs without SIGINT; a terminal that is closed sends SIGHUP.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with needs_told():
            yield
    except PlateError as error:
        typer.echo(f"plates: {error}", err=True)
        raise typer.Exit(2) from error
