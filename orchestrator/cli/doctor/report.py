"""A diagnosis as text or JSON, without names of users, hosts and home folders."""

from __future__ import annotations

import json
import os
import platform
import pwd
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict

from orchestrator.cli.doctor.diagnosis import Diagnosis, ServerPlan
from orchestrator.cli.doctor.machine import Machine
from orchestrator.cli.workshop import CHECKOUT
from orchestrator.host.resources import MIB

LINE = "  {:<15} {}".format
HOMES = re.compile(r"/(?:home|Users)/[^/\s:;,\"'\\]+")
"""A home folder of any user."""


def to_text(diagnosis: Diagnosis) -> str:
    """Return a diagnosis in words, to be read and to be pasted into an issue."""
    versions = (
        LINE(name, version or "not installed") for name, version in diagnosis.versions.items()
    )
    lines = ["This machine", *_describe_machine(diagnosis.machine), "", "Versions", *versions]
    if diagnosis.server:
        lines += ["", "A server would use", *_describe_server(diagnosis.server)]
    if diagnosis.notes:
        lines += ["", "Good to know", *(f"  - {note}" for note in diagnosis.notes)]
    if diagnosis.is_healthy:
        lines += ["", "A server would start."]
    else:
        lines += [
            "",
            "This hinders a start",
            *(f"  - {hindrance}" for hindrance in diagnosis.hindrances),
        ]
    return anonymize("\n".join(lines))


def to_json(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as JSON."""
    document = {"would_start": diagnosis.is_healthy, **asdict(diagnosis)}
    return anonymize(json.dumps(document, ensure_ascii=False, indent=2))


def _describe_machine(machine: Machine) -> Iterator[str]:
    yield LINE("system", machine.system)
    yield LINE("Python", f"{machine.python}, {machine.libpython or 'without a shared libpython'}")
    yield LINE("CPU", machine.cpu)
    yield LINE("cores", f"{machine.cores} of {machine.all_cores}")
    yield LINE("instructions", ", ".join(machine.instructions) or "none that make networks fast")
    limit = machine.usable_bytes
    limit_note = f", limited to {_to_mib(limit)}" if limit < machine.memory_bytes else ""
    yield LINE("memory", f"{_to_mib(machine.memory_bytes)}{limit_note}")
    yield LINE("/dev/shm", f"{_to_mib(machine.shm_bytes)}, {_to_mib(machine.free_shm_bytes)} free")
    ports = (f"{port.number} {'not ' if port.problem else ''}free" for port in machine.ports)
    yield LINE("ports", ", ".join(ports))
    yield LINE("GPU", "; ".join(machine.gpus) or "none found")


def _describe_server(server: ServerPlan) -> Iterator[str]:
    yield LINE("device", server.device)
    yield LINE("engine", f"{server.engine}: {server.reason}")
    yield LINE("workers", f"{server.workers}, for {server.pictures} pictures at once")
    yield LINE("threads", f"{server.threads} of one inference")


def _to_mib(count: int) -> str:
    return f"{count // MIB:,} MiB"


def anonymize(text: str, folders: Mapping[str, str] | None = None) -> str:
    """Return a text without paths of home folders, and without user and host in other paths.

    Args:
        text: Any text.
        folders: The replacement of each folder; None means the checkout and the home folder.
    """
    if folders is None:
        folders = {str(CHECKOUT): ".", os.path.expanduser("~"): "~"}  # noqa: PTH111 - never raises
    for folder in sorted(folders, key=len, reverse=True):
        if folder not in {"/", "~"}:
            text = re.sub(rf"(?<![\w.~-]){re.escape(folder)}(?![\w.-])", folders[folder], text)
    text = HOMES.sub("~", text)
    for name, stand_in in ((_name_user(), "USER"), (platform.node(), "HOST")):
        if name:
            text = re.sub(rf"(?<=/){re.escape(name)}(?![\w.-])", stand_in, text)
    return text


def _name_user() -> str:
    with suppress(KeyError):  # a container may not know its user
        return pwd.getpwuid(os.getuid()).pw_name
    return ""
