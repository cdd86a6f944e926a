"""The command `plates add-version`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import (
    Device,
    DeviceOption,
    EngineOption,
    FormatsOption,
    VerboseOption,
    WeightsOption,
    show_errors,
)
from orchestrator.networks.engines import Engine

# Everything heavy is imported when the command runs, so that --help is quick.


def add_version(
    network: Annotated[str, typer.Argument(help="yolo, stn or lprnet.")],
    *,
    to: Annotated[Path, typer.Option(help="Repository that `plates export --out` wrote.")],
    weights: WeightsOption = None,
    formats: FormatsOption = None,
    engine: EngineOption = Engine.AUTO,
    device: DeviceOption = Device.AUTO,
    verbose: VerboseOption = False,
) -> None:
    """Export a network as the next version beside the one that is served."""
    with show_errors(verbose=verbose):
        from orchestrator.server import versions
        from orchestrator.server.options import ServerOptions

        options = ServerOptions.given(
            weights=weights, formats=formats, device=device.value, engine=engine
        )
        chosen = options.choose_engine()
        typer.echo(versions.add_version(to, network, options.weights, chosen, options.formats))
