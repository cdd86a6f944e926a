"""The diagnosis of a machine: its facts, what a server would use, and what hinders a start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.cli.doctor.checks import find_hindrances, find_missing_packages, find_notes
from orchestrator.cli.doctor.machine import Machine, describe_machine, find_versions
from orchestrator.networks.engines import explain
from orchestrator.serving.supervisor.models.plate_models import count_ours
from orchestrator.serving.supervisor.options import ServerOptions


@dataclass(frozen=True)
class ServerPlan:
    """The choices of a server on this machine.

    Attributes:
        device: `cpu` or `gpu`.
        engine: The engine of the networks.
        reason: The reason why it is chosen.
        workers: Worker processes.
        pictures: Pictures processed at once.
        threads: CPU threads of one inference.
    """

    device: str
    engine: str
    reason: str
    workers: int
    pictures: int
    threads: int


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of a machine.

    Attributes:
        machine: The facts about it.
        versions: The versions of packages; None for one that is not installed.
        server: The choices of a server; None where packages are missing.
        hindrances: Hindrances to a start, each as a sentence with its remedy.
        notes: Remarks that hinder nothing.
    """

    machine: Machine
    versions: Mapping[str, str | None]
    server: ServerPlan | None
    hindrances: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_healthy(self) -> bool:
        """A server would start."""
        return not self.hindrances


def diagnose() -> Diagnosis:
    """Diagnose this machine; no server is started, and PyTorch is imported only to try a GPU."""
    is_complete = not find_missing_packages()
    options = ServerOptions() if is_complete else ServerOptions(device="cpu")
    machine = describe_machine(options.listening)
    return Diagnosis(
        machine=machine,
        versions=find_versions(),
        server=plan_server(options) if is_complete else None,
        hindrances=tuple(find_hindrances(options, machine)),
        notes=tuple(find_notes(options, machine)) if is_complete else (),
    )


def plan_server(options: ServerOptions) -> ServerPlan:
    """Return what a server with these options would use."""
    on_gpu, capacity = options.on_gpu(), options.capacity()
    choice = explain(options.engine, on_gpu=on_gpu)
    return ServerPlan(
        device="gpu" if on_gpu else "cpu",
        engine=choice.engine.value,
        reason=choice.reason,
        workers=count_ours(capacity),
        pictures=capacity.pictures,
        threads=capacity.threads,
    )
