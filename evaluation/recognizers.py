"""What recognises the pictures: the networks in this process, or a Triton server."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from evaluation.checkpoints import assemble
from evaluation.running import name_engines
from orchestrator.client import PlateClient
from orchestrator.contract import FROM_DETECTION
from orchestrator.ctc import decode
from orchestrator.errors import SettingsError
from orchestrator.formats import RUSSIA, Formats, read_formats
from orchestrator.grammar import Grammar
from orchestrator.looks import Reader, look_at
from orchestrator.networks.engines import Engine, choose
from orchestrator.networks.export import load_networks
from orchestrator.networks.weights import WEIGHTS, choose_formats
from orchestrator.pipeline import Infer, recognize
from orchestrator.plates import Plates
from orchestrator.server.local import own_server
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
        free_texts: Each plate's best reading by beam search without plate formats, of what its
            text was read from; empty where the reader's logits cannot be had.
    """

    plates: Plates
    free_texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recognizer:
    """The seam to what recognises; both functions take uint8 [H, W, 3] BGR.

    Attributes:
        kind: `in process` or `triton`.
        settings: What the pictures are recognised with.
        read: Finds and reads the plates with these settings.
        detect: Only finds them, down to the lowest scores.
        weights: SHA-256 of each network's weights; empty where they are not known.
        engines: What runs each network; empty where that is not known.
    """

    kind: str
    settings: Settings
    read: Callable[[Tensor], Answer]
    detect: Callable[[Tensor], Plates]
    weights: Mapping[str, str] = field(default_factory=dict)
    engines: Mapping[str, Engine] = field(default_factory=dict)


@dataclass(frozen=True)
class RecognizerOptions:
    """Which recognizer to use.

    Attributes:
        url: A running server.
        triton: Start a server for this.
        weights: Folder of the weights, ours when None.
        formats: File of what the plates may say; when None that of the weights, and with a
            running server that of the project's own.
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
    formats: Path | None = None
    checkpoints: Mapping[str, Path] = field(default_factory=dict)
    device: str = "auto"
    engine: Engine = Engine.AUTO
    threads: int = 0
    parameters: Parameters = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chooses = self.weights or self.checkpoints or self.engine is not Engine.AUTO
        if self.url and (self.triton or chooses):
            raise SettingsError(
                "url: a running server has its own engine, weights and checkpoints; "
                "give none of them with it, nor triton"
            )
        if self.changed and (self.url or self.triton):
            raise SettingsError(
                "set: the settings of a server are in its config.pbtxt; give neither url nor triton"
            )

    def choose_formats(self) -> Path:
        """Return the file of what the plates may say; of a running server's nothing is known here.

        Raises:
            WeightsError: The weights have none, or read another alphabet.
        """
        if self.url:
            return self.formats or RUSSIA
        return choose_formats(self.weights or WEIGHTS, self.formats)

    @property
    def name(self) -> str:
        """What recognises, in a few words: the server, or the folder of the weights."""
        if self.url:
            return self.url
        folder = (self.weights or WEIGHTS).resolve()
        name = "ours" if folder == WEIGHTS else folder.name
        return f"{name} with other {', '.join(self.checkpoints)}" if self.checkpoints else name


@contextmanager
def open_recognizer(options: RecognizerOptions) -> Iterator[Recognizer]:
    """Give the recognizer for the length of a `with` block.

    Raises:
        WeightsError: Weights cannot be used.
        ServerError: The server cannot be started or reached.
    """
    if options.url:
        with _recognize_there(options.url, options.parameters) as recognizer:
            yield recognizer
        return
    with tempfile.TemporaryDirectory(prefix="plates-weights-") as folder:
        weights = Path(folder)
        base, formats = options.weights or WEIGHTS, read_formats(options.choose_formats())
        digests = assemble(options.checkpoints, base, weights, formats)
        if not options.triton:
            yield replace(_load_recognizer(options, weights, formats), weights=digests)
            return
        engine = ServerOptions(device=options.device, engine=options.engine).choose_engine()
        with (
            _start_server(options, weights) as url,
            _recognize_there(url, options.parameters) as recognizer,
        ):
            yield replace(recognizer, weights=digests, engines=name_engines(engine, weights))


def _load_recognizer(options: RecognizerOptions, weights: Path, formats: Formats) -> Recognizer:
    torch.set_num_threads(options.threads or os.cpu_count() or 1)
    on_gpu = options.device != "cpu" and torch.cuda.is_available()
    if options.device == "gpu" and not on_gpu:
        raise SettingsError("device: wanted a GPU, got none that PyTorch can use")
    engine = choose(options.engine, on_gpu=on_gpu)
    device = "cuda" if on_gpu else "cpu"
    infer = load_networks(weights, device, engine, options.threads, formats=formats)
    settings = Settings.from_config(
        {name: {"string_value": value} for name, value in options.changed.items()}
    )
    recognizer = recognize_here(infer, settings.updated(options.parameters), formats)
    return replace(recognizer, engines=name_engines(engine, weights))


def parse_assignments(assignments: Sequence[str]) -> dict[str, str]:
    """Take `NAME=VALUE` apart.

    Raises:
        SettingsError: There is no `=`.
    """
    pairs = [one.partition("=") for one in assignments]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise SettingsError(f"set: wanted NAME=VALUE, got {name}{sign}{value}")
    return {name: value for name, _, value in pairs}


def recognize_here(infer: Infer, settings: Settings, formats: Formats) -> Recognizer:
    """Return a recognizer that runs the service's pipeline with the networks given."""
    everything: Settings = replace(settings, **EVERYTHING)  # type: ignore[arg-type]  # by name
    reader = Reader(infer, formats, settings.temperature)

    def read(picture: Tensor) -> Answer:
        plates = recognize(picture, infer, settings, formats=formats)
        return Answer(plates, _free_texts(picture, plates, reader) if plates else ())

    def detect(picture: Tensor) -> Plates:
        return recognize(picture, infer, everything, outputs=FROM_DETECTION)

    return Recognizer("in process", settings, read, detect)


def _free_texts(picture: Tensor, plates: Plates, reader: Reader) -> tuple[str, ...]:
    """Look at plates that were found, N at least 1, and read them without formats."""
    boxes = torch.tensor([plate.xyxy for plate in plates], dtype=torch.float32)
    logits = look_at(picture, boxes, reader).logits.numpy()
    free = Grammar.free(reader.formats.alphabet)
    readings = decode(logits, free, temperature=reader.temperature)
    return tuple(next((text for text, _ in one.candidates), "") for one in readings)


@contextmanager
def _start_server(options: RecognizerOptions, weights: Path) -> Iterator[str]:
    """Serve the weights from a model repository of their own; gives the server's URL."""
    with tempfile.TemporaryDirectory(prefix="plates-models-") as folder:
        models = Path(folder) / "model_repository"
        exported = shutil.ignore_patterns("model.[!p]*", "model.p[!y]*", "part.*", "__pycache__")
        shutil.copytree(REPOSITORY, models, ignore=exported)
        own = ServerOptions(
            repository=models,
            weights=weights,
            formats=options.formats,
            device=options.device,
            threads=options.threads,
            engine=options.engine,
        )
        with own_server(own) as served:
            yield served.http_url


@contextmanager
def _recognize_there(url: str, parameters: Parameters) -> Iterator[Recognizer]:
    given: dict[str, Any] = dict(parameters)
    with PlateClient(url) as client:
        settings = client.server_settings()
        most = min(EVERYTHING["max_plates"], settings.max_plates)  # the server takes no more
        everything: dict[str, Any] = {**EVERYTHING, "max_plates": most, "outputs": FROM_DETECTION}
        yield Recognizer(
            "triton",
            settings.updated(parameters),
            read=lambda picture: Answer(client.recognize(picture.numpy(), **given)),
            detect=lambda picture: client.recognize(picture.numpy(), **everything),
        )
