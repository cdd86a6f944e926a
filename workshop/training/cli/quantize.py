"""The command `plates quantize`."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.flags import FormatsOption, VerboseOption, WeightsOption, show_errors


def quantize(
    *,
    weights: WeightsOption = None,
    formats: FormatsOption = None,
    pictures: Annotated[
        int, typer.Option(min=1, help="Rendered pictures to calibrate the detector with.")
    ] = 60,
    plates: Annotated[
        int, typer.Option(min=1, help="Rendered plates to calibrate the reader with.")
    ] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Of the pictures and plates.")] = 77,
    verbose: VerboseOption = False,
) -> None:
    """Write detector and reader in 8-bit integers beside their weights; needs `make train-env`."""
    with show_errors(verbose=verbose):
        from orchestrator.networks.weights import WEIGHTS
        from workshop.training.quantization import write_quantized

        for path in write_quantized(weights or WEIGHTS, pictures, plates, seed, formats):
            typer.echo(path)
