"""The commands `plates train ...`."""

from __future__ import annotations

import typer

from orchestrator.cli.commands import SuggestingGroup
from workshop.training.cli.detector import train_detector
from workshop.training.cli.reader import train_reader

train = typer.Typer(
    cls=SuggestingGroup, help="Train the networks on your own pictures.", no_args_is_help=True
)
train.command("detector")(train_detector)
train.command("reader")(train_reader)
