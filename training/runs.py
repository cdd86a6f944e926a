"""The folder of a training: its recipe, checkpoints, and weights that can be served from it."""

from __future__ import annotations

import filecmp
import logging
import shutil
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from orchestrator.contract import FORMATS_FILE
from orchestrator.errors import SettingsError
from orchestrator.formats import read_formats
from orchestrator.networks import quantized
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import LISTED, WEIGHTS, list_sums
from orchestrator.toml_files import read_table, to_toml

log = logging.getLogger(__name__)

R = TypeVar("R")
RECIPE, SUMS = "recipe.toml", "SHA256SUMS"
FREE = {"formats", "training.workers"}
"""What may differ when a run goes on: where the plate formats lie, whose content is compared, and
how many processes make the samples, which stay the same ones."""


def open_run(folder: Path, recipe: R, checkpoint: str, formats: Path, *, resume: bool) -> R:
    """Begin a training in a folder, or see that it can go on there.

    Args:
        folder: Of the run; made when it begins.
        recipe: Written to `recipe.toml` when the run begins, and again when it is extended.
        checkpoint: Name of the file to go on from.
        formats: File of what plates may say; a copy of it goes along with the weights.
        resume: Go on with the run that is there.

    Returns:
        The recipe to train by, which knows where the run was extended.

    Raises:
        SettingsError: There is a run already, there is none to go on with, it began with another
            recipe, weights without a run are there, or the folder cannot be written.
    """
    if not resume and (folder / checkpoint).exists():
        raise SettingsError(f"{folder}: a run is here already; --resume goes on with it")
    if resume and not (folder / checkpoint).exists():
        raise SettingsError(
            f"{folder}: no {checkpoint} to go on with is here; begin without --resume"
        )
    try:
        if not resume and _has_weights(folder):
            raise SettingsError(f"{folder}: wanted a new folder or a run's, got one with weights")
        folder.mkdir(parents=True, exist_ok=True)
        text = formats.read_text(encoding="utf-8")
        _keep(folder / FORMATS_FILE, read_formats(formats), text, name="formats")
        if resume and (folder / RECIPE).exists():
            longer: R = _extend(folder / RECIPE, recipe)
            return longer
        _keep(folder / RECIPE, recipe, to_toml(recipe), name="recipe")
    except OSError as error:
        raise SettingsError(f"{folder}: cannot write here: {error.strerror}") from error
    return recipe


def _has_weights(folder: Path) -> bool:
    """Tell whether a folder has weights, or the sums of some: a checkpoint comes before both."""
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    return any(name == SUMS or (LISTED.search(name) and name != FORMATS_FILE) for name in names)


def _extend(path: Path, recipe: Any) -> Any:
    """Return the recipe to go on with; a run's own is written anew where the run gets longer."""
    began = read_table(type(recipe), path)
    length = "steps" if hasattr(began.training, "steps") else "epochs"
    before, now = getattr(began.training, length), getattr(recipe.training, length)
    if now < before:
        raise SettingsError(f"resume: wanted training.{length} {before} or more, got {now}")
    extended = began.training.extended
    as_before = replace(recipe.training, **{length: before}, extended=extended)
    check_same(began, replace(recipe, training=as_before), "resume", "the run began")
    if now == before:
        return replace(recipe, training=as_before)
    longer = replace(recipe.training, extended=(*extended, before))
    recipe = replace(recipe, training=longer)
    path.write_text(to_toml(recipe), encoding="utf-8")
    log.info("extending the run from %d to %d %s", before, now, length)
    return recipe


def _keep(path: Path, value: Any, text: str, *, name: str) -> None:
    """Write a table, or see that the one that is there says the same."""
    if path.exists():
        check_same(read_table(type(value), path), value, name, f"{path} says")
    else:
        path.write_text(text, encoding="utf-8")


def check_same(began: R, recipe: R, name: str, source: str) -> None:
    """See that a run has the recipe or the plate formats that its folder has.

    Args:
        began: What the folder has.
        recipe: What is asked for.
        name: Of what is compared, in the message.
        source: Of `began`, in the message after `as`.

    Raises:
        SettingsError: Some value differs that decides what comes out.
    """
    first, now = _flatten(asdict(began)), _flatten(asdict(recipe))  # type: ignore[call-overload]
    for key, value in first.items():
        if now[key] != value and key not in FREE:
            raise SettingsError(f"{name}: wanted {key} {value} as {source}, got {now[key]}")


def _flatten(table: dict[str, Any], within: str = "") -> dict[str, Any]:
    """Name the values of tables in tables `table.key`."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        name = within + key
        flat |= _flatten(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat


def save_tensors(state: object, path: Path) -> None:
    """Write tensors with PyTorch; a reader, or Ctrl-C, never leaves half a file there."""
    part = path.with_name(path.name + ".part")
    torch.save(state, part)
    part.replace(path)


def complete(folder: Path) -> None:
    """Make a run's folder one to serve from: every network, and SHA256SUMS.

    Networks that the run does not train are copied from the project's own weights, their 8-bit
    forms, too.
    """
    for name, network in NETWORKS.items():
        own = WEIGHTS / network.weights
        if own.exists() and not (folder / own.name).exists():
            shutil.copyfile(own, folder / own.name)
            log.info(
                "copied %s, which this run does not train, from the project's weights", own.name
            )
        if _is_copy(folder / own.name):
            _copy_quantized(name, folder)
    missing = {network.weights for network in NETWORKS.values()} - set(list_sums(folder))
    if missing:
        names = ", ".join(sorted(missing))
        log.warning("to serve from %s, put %s there and renew SHA256SUMS", folder, names)


def _copy_quantized(name: str, folder: Path) -> None:
    """Copy the 8-bit form of one of the project's networks where it is not there yet."""
    file = quantized.file_of(name, WEIGHTS)
    for own in (file, file.with_suffix(".bin")):
        if own.exists() and not (folder / own.name).exists():
            shutil.copyfile(own, folder / own.name)
            log.info("copied %s with it", own.name)


def _is_copy(path: Path) -> bool:
    """Tell whether a run's file of weights is the project's own."""
    own = WEIGHTS / path.name
    return own.exists() and path.exists() and filecmp.cmp(path, own, shallow=False)


class Progress:
    """Tells now and then how far a training is."""

    def __init__(self, steps: int, done: int = 0, *, every_s: float = 15.0) -> None:
        """Begin to watch.

        Args:
            steps: Steps of the whole run.
            done: Steps that were done before.
            every_s: Seconds from line to line.
        """
        self._steps, self._done, self._every_s = steps, done, every_s
        self._began = self._told = time.monotonic()
        self._losses: list[float] = []

    def tell(self, step: int, loss: float) -> None:
        """Note one step; log the mean loss since the last line, the pace and the time left."""
        self._losses.append(loss)
        now = time.monotonic()
        if now - self._told < self._every_s and step < self._steps:
            return
        pace_s = (now - self._began) / (step - self._done)
        log.info(
            "step %d of %d, loss %.3f, %.2f s a step, %s left",
            step, self._steps, sum(self._losses) / len(self._losses), pace_s,
            format_duration((self._steps - step) * pace_s),
        )  # fmt: skip
        self._losses.clear()
        self._told = now


def format_duration(seconds: float) -> str:
    """Write seconds as `1 h 03 min`, `3 min` or `12 s`."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min" if seconds >= 60 else f"{seconds:.0f} s"
