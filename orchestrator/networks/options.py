"""Options of the commands that run networks, each declared once: `threads: ThreadsOption = 0`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.networks.engines import Engine

PANEL = "Networks and machine, of a server that is started here"
"""Group of these options in the help of a command."""


class Device(str, Enum):
    """The processor of the networks."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


REPOSITORY_OPTION = typer.Option(
    "--model-repository",
    show_default=False,
    rich_help_panel=PANEL,
    help="Model repository to serve; ours or any other.",
)
WEIGHTS_OPTION = typer.Option(
    "--weights", show_default=False, rich_help_panel=PANEL, help="Folder of the weights."
)
RepositoryOption = Annotated[Path | None, REPOSITORY_OPTION]
WeightsOption = Annotated[Path | None, WEIGHTS_OPTION]
FormatsOption = Annotated[
    Path | None,
    typer.Option(
        "--formats",
        envvar="PLATE_FORMATS",
        rich_help_panel=PANEL,
        help="File of the plate formats, in the alphabet of the weights; without it, theirs.",
    ),
]
DEVICE_OPTION = typer.Option(
    rich_help_panel=PANEL, help="Processor of the networks; auto: a GPU if there is one."
)
DeviceOption = Annotated[Device, DEVICE_OPTION]
EngineOption = Annotated[
    Engine,
    typer.Option(
        metavar="ENGINE",
        rich_help_panel=PANEL,
        help="auto: the fastest on this machine; torchscript, torchscript-fp16, openvino or "
        "openvino-int8.",
    ),
]
ThreadsOption = Annotated[
    int,
    typer.Option(
        min=0,
        rich_help_panel=PANEL,
        help="CPU threads of one inference; 0: as many as fit the machine.",
    ),
]
InstancesOption = Annotated[
    int,
    typer.Option(
        min=0,
        max=64,
        rich_help_panel=PANEL,
        help="Inferences of the detector, and of the reader, at once; 0: as many as fit the "
        "machine.",
    ),
]
PicturesOption = Annotated[
    int,
    typer.Option(
        min=0,
        max=64,
        rich_help_panel=PANEL,
        help="Pictures processed at once; 0: as many as fit the machine.",
    ),
]
PicturesOnCpuOption = Annotated[
    bool,
    typer.Option(
        "--pictures-on-cpu",
        rich_help_panel=PANEL,
        help="With a GPU: scale and cut pictures on the CPU, and only run networks on the GPU.",
    ),
]
CudaGraphsOption = Annotated[
    bool,
    typer.Option(
        "--cuda-graphs",
        rich_help_panel=PANEL,
        help="With a GPU: launch the detector's kernels together, as one CUDA graph for each "
        "size of its input.",
    ),
]
DecodeOnGpuOption = Annotated[
    bool,
    typer.Option(
        "--decode-on-gpu",
        rich_help_panel=PANEL,
        help="With a GPU: decode JPEG files there, with nvImageCodec (extra `gpu-decoding`).",
    ),
]
MpsOption = Annotated[
    bool,
    typer.Option(
        "--mps",
        rich_help_panel=PANEL,
        help="With a GPU: run kernels of different processes at once, under NVIDIA's MPS.",
    ),
]
CudaPoolOption = Annotated[
    int,
    typer.Option(
        min=0,
        max=65536,
        metavar="MB",
        rich_help_panel=PANEL,
        help="With a GPU: its memory that Triton keeps for the tensors between models.",
    ),
]
