"""Makes one fault in a world of its own, and watches until everything is well and told."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import SubprocessError

import psutil

from orchestrator.errors import PlateError
from workshop.benchmarks.camera_faults.acts import Act
from workshop.benchmarks.camera_faults.evidence import collect, read_looks
from workshop.benchmarks.camera_faults.judging import find_back_s, find_passing, is_all_told, judge
from workshop.benchmarks.camera_faults.report import (
    UNNOTICED,
    CameraPromise,
    CameraRow,
    Ending,
    Moments,
    Sign,
    Telemetry,
)
from workshop.benchmarks.camera_faults.watching import Resources
from workshop.benchmarks.camera_faults.world import USUAL, Setting, World, run_world
from workshop.benchmarks.faults.settings import CannotBeMadeError

START_S = 60.0
BEFORE_S, AFTER_S = 8.0, 8.0
"""Times of undisturbed traffic before a fault, and after the cameras are back."""
PATIENCE_S = 15.0
"""The watch for recovery ends this long after the promised time."""
TOLD_S = 150.0
"""Longest wait until everything is told. Passes of a killed watcher end within two minutes."""
LOOK_S = 0.5


@dataclass(frozen=True)
class CameraFault:
    """A fault that is made on purpose.

    Attributes:
        signs: Signs of which an operator must see one.
    """

    name: str
    title: str
    act: Act
    lasts_s: float
    signs: Sequence[Sign]
    promise: CameraPromise = UNNOTICED
    setting: Setting = USUAL


def make_fault(fault: CameraFault, logs: Path | None = None) -> CameraRow:
    """Make a fault, and return its row. If it cannot be made, the row says why."""
    try:
        with run_world(fault.setting) as world:
            try:
                return _observe(fault, world)
            finally:
                _keep_logs(fault, world, logs)
    except CannotBeMadeError as error:
        return CameraRow(fault.name, fault.title, skipped=str(error))
    except (PlateError, OSError, LookupError, SubprocessError, psutil.Error) as error:
        return CameraRow(fault.name, fault.title, broken=(f"{type(error).__name__}: {error}",))


def _observe(fault: CameraFault, world: World) -> CameraRow:
    steady_s = _wait_for_cameras(world, time.monotonic(), START_S)
    if steady_s is None:
        reason = world.watch.read_errors().strip().splitlines()[-1:] or ["it says nothing"]
        return CameraRow(fault.name, fault.title, broken=(f"did not start: {reason[0]}",))
    time.sleep(BEFORE_S)
    before, log_length = _measure(world), len(world.watch.read_errors())
    metrics = dict(world.watch.samples[-1][1]) if world.watch.samples else {}
    broken_s = time.monotonic()
    with fault.act(world):
        time.sleep(fault.lasts_s)
    healed_s = time.monotonic()
    back_s = _wait_for_cameras(world, healed_s, fault.promise.recover_s + PATIENCE_S)
    time.sleep(AFTER_S)
    moments = Moments(steady_s, broken_s, healed_s, back_s, time.monotonic(), None)
    told_s = _wait_until_told(fault, world, moments)
    moments = replace(moments, told_s=told_s)
    after = _measure(world)
    status, took_s = _end(world)
    samples = [sample for at_s, sample in world.watch.samples if at_s > broken_s]
    telemetry = Telemetry(world.watch.read_errors()[log_length:], metrics, samples)
    is_told = any(sign(telemetry) for sign in fault.signs)
    ending = Ending(status, took_s, before, after, is_told, tuple(world.failures))
    return judge(
        (fault.name, fault.title),
        world.street,
        moments,
        collect(world),
        ending=ending,
        promise=fault.promise,
        unlisted_s=world.unlisted_s,
    )


def _measure(world: World) -> Resources | None:
    with suppress(psutil.Error):
        return world.watch.measure()
    return None


def _end(world: World) -> tuple[int | None, float]:
    """End all watchers; return how the first that runs did."""
    endings = [watcher.stop() for watcher in world.watchers if watcher.is_running()]
    return endings[0] if endings else (world.watch.wait(0), 0.0)


def _wait_for_cameras(world: World, since_s: float, longest_s: float) -> float | None:
    """Return the moment from which all cameras had their rate; None if that did not come."""

    def find() -> float | None:
        return find_back_s(read_looks(world), world.street.cameras, since_s, time.monotonic())

    return _poll(find, longest_s)


def _wait_until_told(fault: CameraFault, world: World, moments: Moments) -> float | None:
    """Return the moment at which all vehicles were stored and told; None if that did not come."""

    def find() -> float | None:
        with suppress(PlateError):
            return time.monotonic() if _is_all_told(fault, world, moments) else None
        return None

    return _poll(find, TOLD_S)


def _is_all_told(fault: CameraFault, world: World, moments: Moments) -> bool:
    evidence, is_blind = collect(world), fault.promise.is_blind
    vehicles = find_passing(world.street, evidence.looks, moments, is_blind=is_blind)
    return is_all_told(vehicles, evidence)


def _poll(find: Callable[[], float | None], longest_s: float) -> float | None:
    deadline = time.monotonic() + longest_s
    while (result := find()) is None and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    return result


def _keep_logs(fault: CameraFault, world: World, logs: Path | None) -> None:
    """Copy what the watchers have printed, and what the cameras and the service have."""
    if logs is None:
        return
    folder = logs / fault.name
    folder.mkdir(parents=True, exist_ok=True)
    for file in (*world.folder.glob("*.err"), *world.folder.glob("*.log"), world.looks):
        if file.exists():
            shutil.copy(file, folder)
