"""The commands `plates export` and `plates add-version`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import EngineOption, VerboseOption, WeightsOption, show_errors
from orchestrator.host.distribution import check_packages
from orchestrator.host.option_fields import expand
from orchestrator.networks.engines import Engine
from orchestrator.networks.options import CapacityOptions

# Heavy modules are imported when the command runs, so that --help is quick.


@expand
def export(
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for a whole repository of this engine, ready for any Triton."),
    ] = None,
    models: CapacityOptions,
    force: Annotated[
        bool, typer.Option("--force", help="Also export networks that are up to date.")
    ] = False,
    verbose: VerboseOption = False,
) -> None:
    """Write the models that the server loads, from the weights."""
    with show_errors(verbose=verbose):
        from orchestrator.cli.workshop import draw_canary
        from orchestrator.serving.supervisor.models.export_cache import export_networks
        from orchestrator.serving.supervisor.models.one_model import check_one_model
        from orchestrator.serving.supervisor.models.repository_writer import lay_out
        from orchestrator.serving.supervisor.options import ServerOptions

        options = ServerOptions.given(**vars(models))
        check_one_model(options)
        draw_canary(options.weights, options.formats)
        source = options.source()
        paths = export_networks(source, force=force)
        if out:
            paths = [lay_out(source, out, options.capacity())]
        typer.echo("\n".join(map(str, paths)) or "every exported model is up to date")


def add_version(
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
        from orchestrator.serving.supervisor.models.new_version import NewVersion
        from orchestrator.serving.supervisor.models.new_version import add_version as add

        typer.echo(add(to, NewVersion(network, weights or WEIGHTS, engine)))
