"""The health check picture of a run, which the run's own networks read with a high score."""

from __future__ import annotations

import logging
from pathlib import Path

from orchestrator.formats.plate_formats import Formats
from orchestrator.host.canary import CANARY_FILES, CanaryPicture, save_canary
from orchestrator.imaging.decoding import decode
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import Infer, recognize
from workshop.rendering.canary import draw_canary
from workshop.rendering.country import Country

log = logging.getLogger(__name__)

TRIES = 20
SURE = 0.9
"""Smallest score of a reading that a health check can rely on."""


def write_canary(folder: Path, country: Country | None) -> None:
    """Write `canary.jpg` and `canary.txt` into a folder of weights that can be served.

    Args:
        folder: Folder of the weights, with SHA256SUMS.
        country: Country of the plates; None if its plates cannot be drawn.
    """
    if country is None:
        log.info("no picture for the health check, as these plates are not rendered: put one, and "
                 "what is read of it, into %s as %s and %s", folder, *CANARY_FILES)  # fmt: skip
        return
    infer = load_networks(folder, formats=country.formats)
    canary = choose_canary(country, infer)
    if canary is None:
        log.warning("no picture for the health check: of %d rendered ones these networks read none "
                    "right; put one, and what is read of it, into %s as %s and %s",
                    TRIES, folder, *CANARY_FILES)  # fmt: skip
        return
    picture, text, score = canary
    save_canary(folder, CanaryPicture(picture, text))
    log.info("picture for the health check: %s, read with a score of %.2f", text, score)


def choose_canary(country: Country, infer: Infer) -> tuple[bytes, str, float] | None:
    """Return the first picture read with a score of `SURE`, else the best one that is read right.

    Returns:
        A JPEG file, its plate's text and the score; None if none of `TRIES` is read right.
    """
    best: tuple[bytes, str, float] | None = None
    for seed in range(TRIES):
        picture, text = draw_canary(country, seed)
        score = score_of(picture, text, infer, country.formats)
        if score > (best[2] if best else 0):
            best = picture, text, score
        if score >= SURE:
            break
    return best


def score_of(picture: bytes, text: str, infer: Infer, formats: Formats) -> float:
    """Return the score of a picture's only plate; 0 if it is not read as the text."""
    plates = recognize(decode(picture), infer, formats=formats)
    return plates[0].text_score if [plate.text for plate in plates] == [text] else 0.0
