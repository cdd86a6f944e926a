"""Options of the commands that run networks, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.networks.engines import Engine

PANEL = "Networks and machine, of a server that is started here"
"""Group of these options in the help of a command."""
MACHINE = partial(typer.Option, rich_help_panel=PANEL)


class Device(str, Enum):
    """The processor of the networks."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


REPOSITORY_OPTION = MACHINE(
    "--model-repository",
    show_default=False,
    help="Model repository to serve: the project's or any other.",
)
WEIGHTS_OPTION = MACHINE("--weights", show_default=False, help="Folder of the weights.")
WeightsOption = Annotated[Path | None, WEIGHTS_OPTION]
FormatsOption = Annotated[
    Path | None,
    MACHINE(
        "--formats",
        envvar="PLATE_FORMATS",
        help="File of the plate formats; without it, that of the weights.",
    ),
]
DEVICE_OPTION = MACHINE(help="Processor of the networks; auto: a GPU if there is one.")
DeviceOption = Annotated[Device, DEVICE_OPTION]
EngineOption = Annotated[
    Engine,
    MACHINE(
        metavar="ENGINE",
        help="auto: the fastest on this machine; torchscript, torchscript-fp16, openvino or "
        "openvino-int8.",
    ),
]
MAX_THREADS = 1024
"""Largest number of threads of one inference. No machine has so many cores for it."""
ThreadsOption = Annotated[
    int,
    MACHINE(
        min=0,
        max=MAX_THREADS,
        help="CPU threads of one inference; 0: as many as fit the machine.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """Options of the networks: the weights, and what runs them."""

    weights: WeightsOption = None
    formats: FormatsOption = None
    device: Annotated[str, Device, DEVICE_OPTION] = Device.AUTO.value
    engine: EngineOption = Engine.AUTO


@dataclass(frozen=True, kw_only=True)
class LocalServerOptions(NetworkOptions):
    """Options of a server that a command starts and stops."""

    threads: ThreadsOption = 0
    repository: Annotated[Path | None, REPOSITORY_OPTION] = None


@dataclass(frozen=True, kw_only=True)
class CapacityOptions(LocalServerOptions):
    """Options of a server whose share of the machine is chosen."""

    instances: Annotated[
        int,
        MACHINE(
            min=0,
            max=64,
            help="Inferences of the detector, and of the reader, at once; 0: as many as fit the "
            "machine.",
        ),
    ] = 0
    pictures: Annotated[
        int,
        MACHINE(min=0, max=64, help="Pictures processed at once; 0: as many as fit the machine."),
    ] = 0
    one_model: Annotated[
        bool,
        MACHINE(
            "--one-model",
            help="With a CPU: plate_recognition runs the networks in its own workers. It answers "
            "more pictures, but Triton has no models of the networks: docs/compositions.md.",
        ),
    ] = False
    pictures_on_gpu: Annotated[
        bool,
        MACHINE(
            "--pictures-on-gpu",
            help="With a GPU: scale and cut pictures there, too, and decode JPEG files there with "
            "nvImageCodec where it is installed (extra `gpu-decoding`).",
        ),
    ] = False
