"""The folder of a training: its recipe, its checkpoints, and weights that can be served."""

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
from orchestrator.formats.plate_formats import read_formats
from orchestrator.host.toml_files import read_table, to_toml
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import LISTED, WEIGHTS, list_sums

log = logging.getLogger(__name__)

R = TypeVar("R")
RECIPE, SUMS = "recipe.toml", "SHA256SUMS"
MAY_DIFFER = {"formats", "training.workers", "training.means"}
"""Settings that may differ when a run is resumed.

The path of the plate formats may differ, since their content is compared instead. The number of
processes that make the samples does not change the samples. Means are made after the last step.
"""


def open_run(folder: Path, recipe: R, checkpoint: str, formats: Path, *, resume: bool) -> R:
    """Begin a training in a folder, or check that it can be resumed there.

    Args:
        folder: Folder of the run; created when the run begins.
        recipe: Recipe of the run; written to `recipe.toml` when the run begins or is extended.
        checkpoint: Name of the file to resume from.
        formats: File of the plate formats; its copy is kept with the weights.
        resume: True to resume the run in the folder.

    Returns:
        The recipe to train by, including the steps or epochs at which the run was extended.

    Raises:
        SettingsError: There is a run already, or none to resume, or weights without a run. Or the
            run began with another recipe, or the folder cannot be written.
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
    """Tell whether a folder has weights or SHA256SUMS; a run writes its checkpoint before both."""
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    return any(name == SUMS or (LISTED.search(name) and name != FORMATS_FILE) for name in names)


def _extend(path: Path, recipe: Any) -> Any:
    """Return the recipe to resume with; if the run gets longer, update its `recipe.toml`."""
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
    """Write a table, or check that the existing one has the same values."""
    if path.exists():
        check_same(read_table(type(value), path), value, name, f"{path} says")
    else:
        path.write_text(text, encoding="utf-8")


def check_same(began: R, recipe: R, name: str, source: str) -> None:
    """Check that the requested recipe or plate formats equal those of the run's folder.

    Args:
        began: Recipe or formats in the folder.
        recipe: Requested recipe or formats.
        name: Name of the compared table in the message.
        source: Origin of `began`, which follows `as` in the message.

    Raises:
        SettingsError: A value differs that affects the result.
    """
    first, now = _flatten(asdict(began)), _flatten(asdict(recipe))  # type: ignore[call-overload]
    for key, value in first.items():
        if now[key] != value and key not in MAY_DIFFER:
            raise SettingsError(f"{name}: wanted {key} {value} as {source}, got {now[key]}")


def _flatten(table: dict[str, Any], within: str = "") -> dict[str, Any]:
    """Flatten nested tables; the names of their values become `table.key`."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        name = within + key
        flat |= _flatten(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat


def save_tensors(state: object, path: Path) -> None:
    """Write tensors with PyTorch; the file is replaced at once, so it is never half written."""
    part = path.with_name(path.name + ".part")
    torch.save(state, part)
    part.replace(path)


def complete(folder: Path) -> None:
    """Complete a run's folder for serving: add the missing networks and SHA256SUMS.

    Networks that the run does not train are copied from the project's own weights, with their
    8-bit forms.
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
    """Copy the 8-bit form of one of the project's networks, if the folder does not have it."""
    for own in sorted(WEIGHTS.glob(f"{name}.int8.*")):
        if not (folder / own.name).exists():
            shutil.copyfile(own, folder / own.name)
            log.info("copied %s with it", own.name)


def _is_copy(path: Path) -> bool:
    """Tell whether a run's file of weights equals the project's own."""
    own = WEIGHTS / path.name
    return own.exists() and path.exists() and filecmp.cmp(path, own, shallow=False)


class Stopwatch:
    """Counts the seconds of a run.

    Attributes:
        before_s: Seconds of the run before its checkpoint, if it is resumed.
    """

    def __init__(self) -> None:
        self.before_s = 0.0
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return self.before_s + time.monotonic() - self._began


class Progress:
    """Logs the progress of a training at intervals."""

    def __init__(self, steps: int, steps_before: int = 0, *, every_s: float = 15.0) -> None:
        """Start the clock.

        Args:
            steps: Number of steps of the whole run.
            steps_before: Number of steps that were made before.
            every_s: Seconds between two lines of the log.
        """
        self._steps, self._steps_before, self._every_s = steps, steps_before, every_s
        self._began = self._last_log_s = time.monotonic()
        self._losses: list[float] = []

    def plan(self, steps: int) -> None:
        """Set the number of steps of the whole run anew."""
        self._steps = steps

    def log(self, step: int, loss: float, left_s: float | None = None) -> None:
        """Count one step; at intervals, log the mean loss, the time per step and the time left.

        Args:
            step: Number of steps made.
            loss: Loss of the last one.
            left_s: Seconds that are left of a run that ends by the clock; None: it ends by steps.
        """
        self._losses.append(loss)
        now = time.monotonic()
        is_last = step >= self._steps if left_s is None else left_s <= 0
        if now - self._last_log_s < self._every_s and not is_last:
            return
        pace_s = (now - self._began) / (step - self._steps_before)
        log.info(
            "step %s, loss %.3f, %.2f s a step, %s left",
            f"{step} of {self._steps}" if left_s is None else step,
            sum(self._losses) / len(self._losses), pace_s,
            format_duration((self._steps - step) * pace_s if left_s is None else max(0, left_s)),
        )  # fmt: skip
        self._losses.clear()
        self._last_log_s = now


def format_duration(seconds: float) -> str:
    """Format seconds as `1 h 03 min`, `3 min` or `12 s`."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min" if seconds >= 60 else f"{seconds:.0f} s"
