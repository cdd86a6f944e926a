"""The recogniser of an actor: networks in its own process, or a server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.client import PlateClient
from orchestrator.networks.engines import Engine
from orchestrator.plates import Plates
from orchestrator.triton.request_log import explain


@dataclass(frozen=True)
class OwnNetworks:
    """The networks, which each actor loads.

    Attributes:
        weights: Folder of the weights; None means ours.
        formats: File of the plate formats; None means the file beside the weights.
        on_gpu: They run on the GPU that the actor was given.
        threads: CPU threads of one inference.
    """

    weights: Path | None = None
    formats: Path | None = None
    engine: Engine = Engine.AUTO
    on_gpu: bool = False
    threads: int = 1

    def identify(self) -> str:
        """Return an identifier of these networks: the digests of their files.

        Raises:
            WeightsError: The weights or their formats cannot be used.
        """
        from orchestrator.networks.weights import WEIGHTS, choose_formats, sha256

        folder = self.weights or WEIGHTS
        formats = choose_formats(folder, self.formats)
        return f"{sha256(folder / 'SHA256SUMS')} {sha256(formats)}"

    @contextmanager
    def open(self) -> Iterator[NetworksHere]:
        """Load the networks.

        Raises:
            PlateError: They cannot be used.
        """
        import cv2
        import torch

        torch.set_num_threads(self.threads)
        cv2.setNumThreads(1)
        yield NetworksHere(self)


@dataclass(frozen=True)
class RunningServer:
    """A running server.

    Attributes:
        url: The URL, in the form for `PlateClient`.
        key: API key; not written to logs.
        timeout_s: Longest time of a call.
        retries: Most retries of a call.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0
    retries: int = 8

    def identify(self) -> str:
        """Return an identifier that says only that a server gave the answers."""
        return "server"

    @contextmanager
    def open(self) -> Iterator[PlateClient]:
        """Connect."""
        with PlateClient(
            self.url, key=self.key, timeout_s=self.timeout_s, retries=self.retries
        ) as client:
            yield client


class NetworksHere:
    """Recognises pictures in this process as a server would; any thread may call it."""

    def __init__(self, networks: OwnNetworks) -> None:
        """Load the networks.

        Raises:
            PlateError: They cannot be used.
        """
        from orchestrator.formats.plate_formats import read_formats
        from orchestrator.networks.export import load_networks
        from orchestrator.networks.weights import WEIGHTS, choose_formats

        weights, self._device = networks.weights or WEIGHTS, "cuda" if networks.on_gpu else "cpu"
        self._formats = read_formats(choose_formats(weights, networks.formats))
        self._infer = load_networks(
            weights, self._device, networks.engine, networks.threads, formats=self._formats
        )

    def recognize(self, picture: bytes, **parameters: Any) -> Plates:
        """Return the plates of a picture file.

        Raises:
            PlateError: It cannot be recognised. A fault in our code also raises this error, and
                ends no other picture.
        """
        import torch

        from orchestrator.imaging.decoding import decode
        from orchestrator.pipeline import recognize
        from orchestrator.settings import Settings

        torch.set_flush_denormal(True)  # set for this thread
        settings = Settings().updated(parameters)
        try:
            bgr = decode(picture, max_pixels=settings.max_pixels).to(self._device)
            with torch.inference_mode():
                return recognize(bgr, self._infer, settings, formats=self._formats)
        except Exception as reason:
            raise explain(reason) from reason


def identify(recognizer: OwnNetworks | RunningServer, parameters: Mapping[str, Any]) -> str:
    """Return, as one text, everything beside the pictures that the answers depend on."""
    return f"{recognizer.identify()} {json.dumps(dict(parameters), sort_keys=True)}"
