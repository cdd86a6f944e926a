"""The command `plates export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import (
    Device,
    DeviceOption,
    EngineOption,
    PicturesOption,
    RepositoryOption,
    VerboseOption,
    WeightsOption,
    plain_errors,
)
from orchestrator.networks.engines import Engine

# Everything heavy is imported when the command runs, so that --help is quick.


def export(
    *,
    engine: EngineOption = Engine.AUTO,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for a whole repository of this engine, ready for any Triton."),
    ] = None,
    pictures: PicturesOption = 0,
    device: DeviceOption = Device.AUTO,
    model_repository: RepositoryOption = None,
    weights: WeightsOption = None,
    force: Annotated[bool, typer.Option(help="Export what is up to date, too.")] = False,
    verbose: VerboseOption = False,
) -> None:
    """Write the models that the server loads, from the weights."""
    with plain_errors(verbose=verbose):
        from orchestrator.networks.weights import WEIGHTS
        from orchestrator.server import repository
        from orchestrator.server.options import ServerOptions

        folder = model_repository or repository.REPOSITORY
        options = ServerOptions(folder, device=device.value, engine=engine, pictures=pictures)
        fitting = options.chosen_engine()
        written = repository.export(folder, weights or WEIGHTS, fitting, force=force)
        if out:
            written = [repository.lay_out(folder, out, fitting, options.capacity())]
        typer.echo("\n".join(map(str, written)) or "every exported model is up to date")
