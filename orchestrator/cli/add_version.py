"""The command `plates add-version`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import (
    EngineOption,
    VerboseOption,
    WeightsOption,
    show_errors,
)
from orchestrator.host.distribution import check_packages
from orchestrator.networks.engines import Engine

# Heavy modules are imported when the command runs, so that --help is quick.


def add(
    network: Annotated[str, typer.Argument(metavar="NETWORK")],
    *,
    to: Annotated[Path, typer.Option(help="Repository that `plates export --out` wrote.")],
    weights: WeightsOption = None,
    engine: EngineOption = Engine.AUTO,
    verbose: VerboseOption = False,
) -> None:
    """Export a network as the next version beside the one that is served.

    NETWORK: yolo, stn or lprnet.
    """
    with show_errors(verbose=verbose):
        check_packages("torch")
        from orchestrator.networks.weights import WEIGHTS
        from orchestrator.serving.supervisor.models.new_version import NewVersion, add_version

        typer.echo(add_version(to, NewVersion(network, weights or WEIGHTS, engine)))
