"""The picture of the health check, drawn where weights come without one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import typer

from orchestrator.canary import CANARY_FILES, has_canary
from orchestrator.cli.app import is_checkout
from orchestrator.errors import PlateError
from orchestrator.networks.weights import choose_formats


def draw_missing(weights: Path, formats: Path | None = None) -> None:
    """Have the country's renderer draw a plate that weights read, where none lies beside them.

    That takes a checkout, whose other packages render; without one the folder stays as it is.

    Args:
        weights: The folder, which gets the picture and its text.
        formats: File of what the plates may say, beside whose renderer it is; the weights' own
            when None.

    Raises:
        WeightsError: The weights do not say whose plates they read, or read others.
    """
    if has_canary(weights) or not is_checkout():
        return
    file = choose_formats(weights, formats)
    typer.echo(
        f"drawing a picture for the health check: {' and '.join(CANARY_FILES)} ...", err=True
    )
    try:
        country = import_module("rendering.country").country_of(file)
        import_module("training.canaries").write_canary(weights, country)
    except (PlateError, OSError) as error:
        typer.echo(f"there is none: {error}", err=True)
