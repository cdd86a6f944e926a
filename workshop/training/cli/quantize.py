"""The command `plates quantize`."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.flags import FormatsOption, VerboseOption, WeightsOption, show_errors


def quantize(
    *,
    weights: WeightsOption = None,
    formats: FormatsOption = None,
    pictures: Annotated[int, typer.Option(min=1, help="Rendered pictures to calibrate with.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Of these pictures.")] = 77,
    verbose: VerboseOption = False,
) -> None:
    """Write the detector in 8-bit integers beside its weights; needs `make train-env`."""
    with show_errors(verbose=verbose):
        from orchestrator.networks.weights import WEIGHTS
        from workshop.training.quantization import write_quantized

        typer.echo(write_quantized(weights or WEIGHTS, pictures, seed, formats))
