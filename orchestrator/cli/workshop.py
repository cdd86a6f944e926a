"""The only module that imports the workshop: its commands, and the picture of the health check.

The workshop is in a checkout. A wheel or an image does not have it, so its modules are imported by
name, when they are needed.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import typer

from orchestrator.errors import PlateError
from orchestrator.host.canary import CANARY_FILES, has_canary

COMMANDS = {
    "evaluate": "workshop.evaluation.command:evaluate",
    "bench": "workshop.benchmarks.bench.command:bench",
    "soak": "workshop.benchmarks.soak.command:soak",
    "quantize": "workshop.training.train_commands:quantize",
    "train": "workshop.training.train_commands:train",
}
"""Location of each command of the workshop, by its name."""
COUNTRY = "workshop.rendering.country"
CANARIES = "workshop.training.canaries"
CHECKOUT = Path(__file__).parents[2]


def is_checkout(folder: Path = CHECKOUT) -> bool:
    """Tell whether a folder is a checkout of the project, with the workshop in it."""
    return (folder / "Makefile").is_file()


def draw_canary(weights: Path, formats: Path | None = None) -> None:
    """Draw the picture of the health check for weights that come without one.

    The country's renderer draws a plate. Without a checkout nothing is drawn.

    Args:
        weights: The folder of the weights, which gets the picture and its text.
        formats: File of the plate formats, beside their renderer; None means that of the weights.

    Raises:
        WeightsError: The weights do not say which plates they read, or read others.
    """
    if has_canary(weights) or not is_checkout():
        return
    from orchestrator.networks.weights import choose_formats

    file = choose_formats(weights, formats)
    typer.echo(
        f"drawing a picture for the health check: {' and '.join(CANARY_FILES)} ...", err=True
    )
    try:
        import_module(CANARIES).write_canary(weights, import_module(COUNTRY).country_of(file))
    except (PlateError, OSError) as error:
        hint = "a renderer that lies elsewhere is found by --formats FILE, the file beside it"
        typer.echo(f"none was drawn: {error}; {hint}", err=True)
