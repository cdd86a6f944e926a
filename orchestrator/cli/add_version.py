"""The command `plates add-version`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import (
    Device,
    DeviceOption,
    EngineOption,
    VerboseOption,
    WeightsOption,
    plain_errors,
)
from orchestrator.networks.engines import Engine

# Everything heavy is imported when the command runs, so that --help is quick.


def add_version(
    network: Annotated[str, typer.Argument(help="yolo, stn or lprnet.")],
    *,
    to: Annotated[Path, typer.Option(help="Repository that `plates export --out` wrote.")],
    weights: WeightsOption = None,
    engine: EngineOption = Engine.AUTO,
    device: DeviceOption = Device.AUTO,
    verbose: VerboseOption = False,
) -> None:
    """Export a network as the next version beside the one that is served."""
    with plain_errors(verbose=verbose):
        from orchestrator.networks.weights import WEIGHTS
        from orchestrator.server.options import ServerOptions
        from orchestrator.server.versions import add_version as written

        options = ServerOptions(to, device=device.value, engine=engine)
        typer.echo(written(to, network, weights or WEIGHTS, options.chosen_engine()))
