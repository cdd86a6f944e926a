"""The parts that the commands of `plates` share: options, logging and error messages."""

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

from orchestrator.cli.standard_streams import say
from orchestrator.errors import PlateError
from orchestrator.host.distribution import needs_told
from orchestrator.networks.engines import Engine


class Device(str, Enum):
    """The processor of the networks."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


PLATES_PANEL, NETWORKS_PANEL = (
    "Which plates",
    "Networks and machine, of a server that is started here",
)
ADDRESSES_PANEL, CALLERS_PANEL, TRITON_PANEL = "Addresses", "Callers", "Triton"
"""Groups of the options of `plates serve`."""
RepositoryOption = Annotated[
    Path | None,
    typer.Option(
        "--model-repository",
        rich_help_panel=NETWORKS_PANEL,
        help="Model repository to serve; ours or any other.",
    ),
]
WeightsOption = Annotated[
    Path | None,
    typer.Option("--weights", rich_help_panel=NETWORKS_PANEL, help="Folder of the weights."),
]
FormatsOption = Annotated[
    Path | None,
    typer.Option(
        "--formats",
        envvar="PLATE_FORMATS",
        rich_help_panel=NETWORKS_PANEL,
        help="File of the plate formats, in the alphabet of the weights; without it, theirs.",
    ),
]
DeviceOption = Annotated[
    Device,
    typer.Option(
        rich_help_panel=NETWORKS_PANEL,
        help="Processor of the networks; auto: a GPU if there is one.",
    ),
]
EngineOption = Annotated[
    Engine,
    typer.Option(
        metavar="ENGINE",
        rich_help_panel=NETWORKS_PANEL,
        help="auto: the fastest on this machine; torchscript, torchscript-fp16, openvino or "
        "openvino-int8.",
    ),
]
ThreadsOption = Annotated[
    int,
    typer.Option(
        min=0,
        rich_help_panel=NETWORKS_PANEL,
        help="CPU threads of one inference; 0: as many as fit the machine.",
    ),
]
InstancesOption = Annotated[
    int,
    typer.Option(
        min=0,
        max=64,
        rich_help_panel=NETWORKS_PANEL,
        help="Inferences of the detector, and of the reader, at once; 0: as many as fit the "
        "machine.",
    ),
]
PicturesOption = Annotated[
    int,
    typer.Option(
        min=0,
        max=64,
        rich_help_panel=NETWORKS_PANEL,
        help="Pictures processed at once; 0: as many as fit the machine.",
    ),
]
PicturesOnCpuOption = Annotated[
    bool,
    typer.Option(
        "--pictures-on-cpu",
        rich_help_panel=NETWORKS_PANEL,
        help="With a GPU: scale and cut pictures on the CPU, and only run networks on the GPU.",
    ),
]
CudaGraphsOption = Annotated[
    bool,
    typer.Option(
        "--cuda-graphs",
        rich_help_panel=NETWORKS_PANEL,
        help="With a GPU: launch the detector's kernels together, as one CUDA graph for each "
        "size of its input.",
    ),
]
DecodeOnGpuOption = Annotated[
    bool,
    typer.Option(
        "--decode-on-gpu",
        rich_help_panel=NETWORKS_PANEL,
        help="With a GPU: decode JPEG files there, with nvImageCodec (extra `gpu-decoding`).",
    ),
]
MpsOption = Annotated[
    bool,
    typer.Option(
        "--mps",
        rich_help_panel=NETWORKS_PANEL,
        help="With a GPU: run kernels of different processes at once, under NVIDIA's MPS.",
    ),
]
CudaPoolOption = Annotated[
    int,
    typer.Option(
        min=0,
        max=65536,
        metavar="MB",
        rich_help_panel=NETWORKS_PANEL,
        help="With a GPU: its memory that Triton keeps for the tensors between models.",
    ),
]
PortOption = Annotated[
    int,
    typer.Option(
        min=0, max=65535, metavar="PORT", rich_help_panel=ADDRESSES_PANEL, help="0: any free port."
    ),
]
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
        for name in ("export_cache", "export_process"):
            logging.getLogger(f"orchestrator.serving.supervisor.{name}").setLevel(logging.INFO)
    # A shell starts background jobs without SIGINT; closing a terminal sends SIGHUP.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with needs_told():
            yield
    except PlateError as error:
        say(f"plates: {error}", err=True)
        raise typer.Exit(2) from error
