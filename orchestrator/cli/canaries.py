"""Draws the picture of the health check for weights that come without one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import typer

from orchestrator.system.canary import CANARY_FILES, has_canary
from orchestrator.cli.app import is_checkout
from orchestrator.errors import PlateError
from orchestrator.networks.weights import choose_formats


def draw_missing(weights: Path, formats: Path | None = None) -> None:
    """Draw a plate for weights that come without a picture, with the country's renderer.

    This needs a checkout, whose other packages have the renderers; else nothing is drawn.

    Args:
        weights: The folder of the weights, which gets the picture and its text.
        formats: File of the plate formats, beside their renderer; None means that of the weights.

    Raises:
        WeightsError: The weights do not say which plates they read, or read others.
    """
    if has_canary(weights) or not is_checkout():
        return
    file = choose_formats(weights, formats)
    typer.echo(
        f"drawing a picture for the health check: {' and '.join(CANARY_FILES)} ...", err=True
    )
    try:
        country = import_module("workshop.rendering.country").country_of(file)
        import_module("workshop.training.canaries").write_canary(weights, country)
    except (PlateError, OSError) as error:
        typer.echo(f"there is none: {error}", err=True)
