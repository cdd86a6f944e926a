"""The workloads: forms of a model chain with the same answers, and the pictures to send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from examples.ocr.pages import LETTER
from orchestrator.contract import MODEL
from orchestrator.imaging.decoding import decode
from orchestrator.networks.registry import NETWORKS
from orchestrator.serving.supervisor.plate_models import REPOSITORY
from orchestrator.serving.supervisor.repository_writer import RepositoryWriter
from workshop.benchmarks.compositions import OUTPUTS, repository
from workshop.benchmarks.pictures import Picture, encode, render
from workshop.rendering.pages import Page

BLS, ENSEMBLE, MONOLITH = "bls", "ensemble", "monolith"
SMALL_WH, LARGE_WH = (640, 480), (2560, 1920)
STREET_WH = (1344, 1008)
"""The size of large streets. On larger ones, only the service looks closer at faint finds."""
OCR_REPOSITORY = Path(__file__).resolve().parents[3] / "examples" / "ocr" / "model_repository"


@dataclass(frozen=True)
class Form:
    """One composition of a workload.

    Attributes:
        model: The model that clients call.
        python: Its Python models; the number of their instances is varied.
    """

    name: str
    model: str
    python: tuple[str, ...]
    networks: tuple[str, ...] = ()

    @property
    def workers(self) -> tuple[str, ...]:
        """The models that have processes; an ensemble itself has none."""
        return (*self.python, *self.networks)


@dataclass(frozen=True)
class Workload:
    """The same work in several forms; all take a picture's file as `encoded_image`.

    Attributes:
        outputs: The outputs of every form; calls ask for these alone.
        lay_out: Writes all models. Each Python model gets one instance per picture in the server's
            options, each network at most as many.
    """

    name: str
    forms: tuple[Form, ...]
    outputs: tuple[str, ...]
    repository: Path
    lay_out: RepositoryWriter
    draw: Callable[[], list[Picture]]


def draw_streets() -> list[Picture]:
    """Draw two plates in a small and in a large picture, and none in a large one."""
    sizes = {"small": (2, SMALL_WH), "large": (2, STREET_WH), "large, no plate": (0, STREET_WH)}
    return [render(count, size_wh, name) for name, (count, size_wh) in sizes.items()]


def draw_pages() -> list[Picture]:
    """Draw the same three lines of text in a small and in a large picture."""
    sizes = {"small": (SMALL_WH, 24), "large": (LARGE_WH, 96)}
    return [
        encode(name, decode(Page(LETTER, size_wh, font_px).encode()).numpy())
        for name, (size_wh, font_px) in sizes.items()
    ]


PLATES = Workload(
    name="plates",
    forms=(
        Form(BLS, MODEL, (MODEL,), tuple(NETWORKS)),
        Form(ENSEMBLE, "plates_ensemble", ("prepare", "crop", "decode"), tuple(NETWORKS)),
        Form(MONOLITH, "plates_monolith", ("plates_monolith",)),
    ),
    outputs=OUTPUTS,
    repository=REPOSITORY,
    lay_out=repository.lay_out_plates,
    draw=draw_streets,
)
OCR = Workload(
    name="ocr",
    forms=(
        Form(
            ENSEMBLE,
            "ocr_ensemble",
            ("preprocess", "postprocess_0", "postprocess_1"),
            ("detector", "recogniser"),
        ),
        Form("one model", "ocr_model", ("ocr_model",)),
    ),
    outputs=("records",),
    repository=OCR_REPOSITORY,
    lay_out=repository.lay_out_ocr,
    draw=draw_pages,
)
WORKLOADS = {one.name: one for one in (PLATES, OCR)}
