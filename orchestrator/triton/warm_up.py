"""An artificial request, so that the first real one finds everything imported and allocated.

Triton's own warm-up cannot do this: it would call the other models before they are loaded.
"""

from __future__ import annotations

import torch

from orchestrator.contract import DETECTOR, INPUT, OUTPUT, RECTIFIER, THETA
from orchestrator.formats.plate_formats import Formats
from orchestrator.imaging.decoding import decode
from orchestrator.pipeline import Tensors, recognize
from orchestrator.plates import Plates
from orchestrator.settings import Settings


def warm_up(settings: Settings, formats: Formats, file: bytes) -> Plates:
    """Run all steps of the worker itself on a picture file.

    Returns:
        Its plates: one, and a square one if plates may have two lines.
    """
    picture = decode(file, max_pixels=settings.max_pixels)
    rows = [[8.0, 8, 88, 28, 1, 0], [8.0, 40, 48, 70, 1, 0]][: 2 if formats.layouts(2) else 1]

    def answer(model: str, tensors: Tensors) -> Tensors:
        """Answer as the networks might: straight plates, high scores, and no readable text."""
        sent = tensors[INPUT]
        if model == DETECTOR:
            return {OUTPUT: torch.tensor([rows])}
        if model == RECTIFIER:
            return {OUTPUT: sent, THETA: torch.eye(2, 3).expand(len(sent), 2, 3)}
        return {OUTPUT: torch.zeros(len(sent), formats.classes, 18)}

    return recognize(picture, answer, settings, formats=formats)
