"""Recognizers of pictures: the networks in this process, or a running server."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from orchestrator.arrays import Array
from orchestrator.client import PlateClient
from orchestrator.contract import FROM_DETECTION
from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import RUSSIA, Formats, read_formats
from orchestrator.networks import quantized
from orchestrator.networks.engines import Engine, choose
from orchestrator.networks.export import load_networks
from orchestrator.networks.options import NetworkOptions
from orchestrator.networks.registry import NETWORKS, choose_engine
from orchestrator.networks.weights import WEIGHTS, choose_formats
from orchestrator.pipeline import Infer, recognize
from orchestrator.plates import Plates
from orchestrator.reading.affine_crops import compose, frames_of
from orchestrator.reading.crops import crop_boxes, cut_boxes
from orchestrator.reading.improvement import improve
from orchestrator.reading.reader import PlateReadings, Reader
from orchestrator.reading.second_pass import SECOND_PASS
from orchestrator.reading.third_pass import THIRD_PASS
from orchestrator.settings import Settings
from workshop.evaluation.checkpoints import assemble


def name_engines(engine: Engine, weights: Path) -> dict[str, Engine]:
    """Return the engine that runs each network when this engine was chosen for all.

    Args:
        engine: The chosen engine, not `auto`.
        weights: The folder of the weights. A network without an 8-bit form of these weights runs in
            float32. A detector from another project runs in TorchScript.

    Raises:
        WeightsError: A weight file has another SHA-256 than SHA256SUMS lists.
    """
    engines = {name: choose_engine(name, weights, engine) for name in NETWORKS}
    for name, engine_of_network in engines.items():
        if engine_of_network is Engine.OPENVINO_INT8 and quantized.read(name, weights) is None:
            engines[name] = Engine.OPENVINO
    return engines


def read_plates(picture: Array, xyxy: Array, reader: Reader) -> PlateReadings:
    """Read the plates in boxes, and again those where it helps, but look for no better boxes.

    Args:
        picture: uint8 [H, W, 3] BGR.
        xyxy: The boxes, float32 [N, 4] of NumPy; N at least 1.
        reader: The networks and formats.
    """
    cuts = crop_boxes(picture, xyxy)
    straight, theta = reader.stn(cut_boxes(picture, cuts))
    logits = reader.lprnet(straight)
    frames = compose(frames_of(cuts), theta)
    first = PlateReadings(xyxy, frames, logits, reader.decode(logits))
    return improve(picture, first, reader, (SECOND_PASS, THIRD_PASS))


EVERYTHING = {"detection_threshold": 0.001, "max_plates": 300}
"""Parameters for detection that give the whole precision-recall curve, as YOLOv5 validates."""

Parameters = Mapping[str, float]


@dataclass(frozen=True)
class Recognizer:
    """A recognizer of plates; both of its functions take uint8 [H, W, 3] BGR.

    Attributes:
        read: Finds and reads the plates with these settings.
        detect: Only finds them, down to the lowest scores.
    """

    kind: str
    settings: Settings
    read: Callable[[Tensor], Plates]
    detect: Callable[[Tensor], Plates]
    weights: Mapping[str, str] = field(default_factory=dict)
    engines: Mapping[str, Engine] = field(default_factory=dict)


@dataclass(frozen=True)
class RecognizerOptions(NetworkOptions):
    """The options that choose a recognizer.

    Attributes:
        checkpoints: The files for single networks, by `yolo`, `stn` and `lprnet`.
        other_settings: Settings that differ from the shipped ones, in process only.
    """

    url: str | None = None
    checkpoints: Mapping[str, Path] = field(default_factory=dict)
    threads: int = 0
    parameters: Parameters = field(default_factory=dict)
    other_settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chooses = self.weights or self.checkpoints or self.engine is not Engine.AUTO
        if self.url and chooses:
            raise SettingsError(
                "url: a running server has its own engine, weights and checkpoints; "
                "give none of them with it"
            )
        if self.other_settings and self.url:
            raise SettingsError(
                "set: the settings of a server are in its config.pbtxt; give no url"
            )

    def choose_formats(self) -> Path:
        """Return the file of plate formats; the formats of a running server are not known here.

        Raises:
            WeightsError: The weights have none, or read another alphabet.
        """
        if self.url:
            return self.formats or RUSSIA
        return choose_formats(self.weights or WEIGHTS, self.formats)

    @property
    def name(self) -> str:
        """The name of the recognizer: the server, or the folder of the weights."""
        if self.url:
            return self.url
        folder = (self.weights or WEIGHTS).resolve()
        name = "ours" if folder == WEIGHTS else folder.name
        return f"{name} with other {', '.join(self.checkpoints)}" if self.checkpoints else name


@contextmanager
def open_recognizer(options: RecognizerOptions) -> Iterator[Recognizer]:
    """Open the recognizer for the length of a `with` block.

    Raises:
        WeightsError: Weights cannot be used.
        ServerError: The server cannot be reached.
    """
    if options.url:
        with _recognize_there(options.url, options.parameters) as recognizer:
            yield recognizer
        return
    with tempfile.TemporaryDirectory(prefix="plates-weights-") as folder:
        weights = Path(folder)
        base, formats = options.weights or WEIGHTS, read_formats(options.choose_formats())
        digests = assemble(options.checkpoints, base, weights, formats)
        yield replace(_load_recognizer(options, weights, formats), weights=digests)


def _load_recognizer(options: RecognizerOptions, weights: Path, formats: Formats) -> Recognizer:
    torch.set_num_threads(options.threads or os.cpu_count() or 1)
    on_gpu = options.device != "cpu" and torch.cuda.is_available()
    if options.device == "gpu" and not on_gpu:
        raise SettingsError("device: wanted a GPU, got none that PyTorch can use")
    engine = choose(options.engine, on_gpu=on_gpu)
    device = "cuda" if on_gpu else "cpu"
    infer = load_networks(weights, device, engine, options.threads, formats=formats)
    settings = Settings.from_config(
        {name: {"string_value": value} for name, value in options.other_settings.items()}
    )
    recognizer = recognize_here(infer, settings.updated(options.parameters), formats)
    return replace(recognizer, engines=name_engines(engine, weights))


def parse_assignments(assignments: Sequence[str]) -> dict[str, str]:
    """Parse assignments of the form `NAME=VALUE`.

    Raises:
        SettingsError: The name, the `=` or the value is missing.
    """
    pairs = [assignment.partition("=") for assignment in assignments]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise SettingsError(f"set: wanted NAME=VALUE, got {name}{sign}{value}")
    return {name: value for name, _, value in pairs}


def recognize_here(infer: Infer, settings: Settings, formats: Formats) -> Recognizer:
    """Return a recognizer that runs the service's pipeline with the given networks."""
    everything: Settings = replace(settings, **EVERYTHING)  # type: ignore[arg-type]  # by name
    return Recognizer(
        "in process",
        settings,
        read=lambda picture: recognize(picture, infer, settings, formats=formats),
        detect=lambda picture: recognize(picture, infer, everything, outputs=FROM_DETECTION),
    )


@contextmanager
def _recognize_there(url: str, parameters: Parameters) -> Iterator[Recognizer]:
    options: dict[str, Any] = dict(parameters)
    with PlateClient(url) as client:
        settings = client.server_settings()
        most = min(EVERYTHING["max_plates"], settings.max_plates)  # the server accepts no more
        everything: dict[str, Any] = {**EVERYTHING, "max_plates": most, "outputs": FROM_DETECTION}
        yield Recognizer(
            "triton",
            settings.updated(parameters),
            read=lambda picture: client.recognize(picture.numpy(), **options),
            detect=lambda picture: client.recognize(picture.numpy(), **everything),
        )
