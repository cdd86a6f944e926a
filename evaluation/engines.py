"""What recognises the pictures: the networks in this process, or a Triton server."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from evaluation.checkpoints import assemble
from orchestrator.client import PlateClient
from orchestrator.client.transport import Call
from orchestrator.contract import FROM_DETECTION, OUTPUT, READER
from orchestrator.ctc import decode
from orchestrator.errors import SettingsError
from orchestrator.networks.engines import Engine as NetworkEngine
from orchestrator.networks.engines import chosen
from orchestrator.networks.export import load_networks
from orchestrator.networks.weights import WEIGHTS
from orchestrator.pipeline import Infer, recognize
from orchestrator.plates import Plate, Plates
from orchestrator.server.local import server_at
from orchestrator.server.options import ServerOptions
from orchestrator.server.repository import REPOSITORY
from orchestrator.settings import Settings

EVERYTHING = {"detection_threshold": 0.001, "max_plates": 300}
"""What detection is measured with: the whole precision-recall curve, as YOLOv5 validates."""

Parameters = Mapping[str, float]


@dataclass(frozen=True)
class Answer:
    """What came back for a picture.

    Attributes:
        plates: As a client sees them.
        free_texts: Each plate's best reading by beam search without plate formats; empty where
            the reader's logits cannot be had.
    """

    plates: Plates
    free_texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Engine:
    """The seam to what recognises; both functions take uint8 [H, W, 3] BGR.

    Attributes:
        kind: `in process` or `triton`.
        settings: What the pictures are recognised with.
        read: Finds and reads the plates with these settings.
        detect: Only finds them, down to the lowest scores.
        weights: SHA-256 of each network's weights; empty where they are not known.
        networks: What runs the networks; None where that is not known.
    """

    kind: str
    settings: Settings
    read: Callable[[Tensor], Answer]
    detect: Callable[[Tensor], Plates]
    weights: Mapping[str, str] = field(default_factory=dict)
    networks: NetworkEngine | None = None


@dataclass(frozen=True)
class EngineOptions:
    """Which engine to use.

    Attributes:
        url: A running server.
        triton: Start a server for this.
        weights: Folder of the weights, ours when None.
        checkpoints: Files for single networks, by `yolo`, `stn` and `lprnet`.
        device: `auto`, `cpu` or `gpu`.
        engine: What runs the networks; `auto` fits the machine.
        threads: CPU threads; all cores when 0.
        parameters: Request parameters that override the settings.
        changed: Other settings than the shipped ones, in process only.
    """

    url: str | None = None
    triton: bool = False
    weights: Path | None = None
    checkpoints: Mapping[str, Path] = field(default_factory=dict)
    device: str = "auto"
    engine: NetworkEngine = NetworkEngine.AUTO
    threads: int = 0
    parameters: Parameters = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chooses = self.weights or self.checkpoints or self.engine is not NetworkEngine.AUTO
        if self.url and (self.triton or chooses):
            raise SettingsError(
                "url: wanted without triton, engine, weights and checkpoints, because a running "
                "server has its own; got both"
            )
        if self.changed and (self.url or self.triton):
            raise SettingsError(
                "set: wanted without url and triton, whose settings are in config.pbtxt; got both"
            )


@contextmanager
def opened(options: EngineOptions) -> Iterator[Engine]:
    """Give the engine for the length of a `with` block.

    Raises:
        WeightsError: Weights cannot be used.
        ServerError: The server cannot be started or reached.
    """
    if options.url:
        with _served(options.url, options.parameters) as engine:
            yield engine
        return
    with tempfile.TemporaryDirectory(prefix="plates-weights-") as folder:
        weights = Path(folder)
        digests = assemble(options.checkpoints, options.weights or WEIGHTS, weights)
        if not options.triton:
            yield replace(_in_process(options, weights), weights=digests)
            return
        with _own_server(options, weights) as url, _served(url, options.parameters) as engine:
            networks = ServerOptions(device=options.device, engine=options.engine).chosen_engine()
            yield replace(engine, weights=digests, networks=networks)


def _in_process(options: EngineOptions, weights: Path) -> Engine:
    torch.set_num_threads(options.threads or os.cpu_count() or 1)
    on_gpu = options.device != "cpu" and torch.cuda.is_available()
    if options.device == "gpu" and not on_gpu:
        raise SettingsError("device: wanted a GPU, got none that PyTorch can use")
    networks = chosen(options.engine, on_gpu=on_gpu)
    infer = load_networks(weights, "cuda" if on_gpu else "cpu", networks, options.threads)
    settings = Settings.from_config(
        {name: {"string_value": value} for name, value in options.changed.items()}
    )
    return replace(in_process(infer, settings.updated(options.parameters)), networks=networks)


def parsed(assignments: Sequence[str]) -> dict[str, str]:
    """Take `NAME=VALUE` apart.

    Raises:
        SettingsError: There is no `=`.
    """
    pairs = [one.partition("=") for one in assignments]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise SettingsError(f"set: wanted NAME=VALUE, got {name}{sign}{value}")
    return {name: value for name, _, value in pairs}


def in_process(infer: Infer, settings: Settings) -> Engine:
    """Return an engine that runs the service's pipeline with the networks given."""
    everything = settings.updated(EVERYTHING)

    def read(picture: Tensor) -> Answer:
        heard: list[Tensor] = []

        def listening(name: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
            answer = infer(name, tensors)
            heard.extend([answer[OUTPUT]] if name == READER else [])
            return answer

        plates = recognize(picture, listening, settings)
        return Answer(plates, _free_texts(heard, settings.temperature))

    def detect(picture: Tensor) -> Plates:
        return recognize(picture, infer, everything, outputs=FROM_DETECTION)

    return Engine("in process", settings, read, detect)


def _free_texts(logits: list[Tensor], temperature: float) -> tuple[str, ...]:
    if not logits:
        return ()
    readings = decode(torch.cat(logits), None, temperature=temperature)
    return tuple(next((text for text, _ in one.candidates), "") for one in readings)


@contextmanager
def _own_server(options: EngineOptions, weights: Path) -> Iterator[str]:
    """Serve the weights from a model repository of their own; gives the server's URL."""
    with tempfile.TemporaryDirectory(prefix="plates-models-") as folder:
        models = Path(folder) / "model_repository"
        exported = shutil.ignore_patterns("model.[!p]*", "model.p[!y]*", "part.*", "__pycache__")
        shutil.copytree(REPOSITORY, models, ignore=exported)
        own = (models, weights, options.device, options.threads, options.engine)
        with server_at(None, *own) as url:
            yield url


@contextmanager
def _served(url: str, parameters: Parameters) -> Iterator[Engine]:
    with closing(_Client(url)) as client:
        settings = client.settings().updated(parameters)
        given: dict[str, Any] = dict(parameters)
        yield Engine(
            "triton",
            settings,
            read=lambda picture: Answer(client.recognize(picture.numpy(), **given)),
            detect=lambda picture: client.detect(picture, EVERYTHING),
        )


class _Client(PlateClient):
    """A client that can also ask for detections only, and for the server's settings."""

    def detect(self, picture: Tensor, parameters: Parameters) -> Plates:
        names = sorted(FROM_DETECTION)
        arrays = self._infer(Call(picture.numpy(), names, parameters), lambda arrays: arrays)
        boxes, scores = (arrays[name].tolist() for name in names)
        return Plates(
            tuple(
                Plate(tuple(xyxy), detection_score=score)
                for xyxy, (score,) in zip(boxes, scores, strict=True)
            )
        )

    def settings(self) -> Settings:
        with self._plain_errors():
            config = self._transport().config(self._timeout_s)
        return Settings.from_config(config.get("parameters", {}))
