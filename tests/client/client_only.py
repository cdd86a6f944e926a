"""A Python environment with the client's packages only, without those of the server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from copy import copy
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

from orchestrator.host.distribution import NAME
from tests.samples import PROJECT

COMMANDS = """
import contextlib, io, json, sys
from orchestrator.cli.app import app

results = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app(arguments)
        except SystemExit as ended:
            results.append((ended.code or 0, out.getvalue(), err.getvalue()))
print(json.dumps(results))
"""


class CommandResult(NamedTuple):
    """Exit status and output of a command that has ended."""

    returncode: int
    stdout: str
    stderr: str


class ClientOnly:
    """Runs Python with only the packages that a client needs, as links in a folder."""

    def __init__(self, site: Path) -> None:
        self.site = site
        self.paths = [site]
        distributions = {NAME: metadata.distribution(NAME)}
        for requirement in map(Requirement, metadata.requires(NAME) or ()):
            if _is_for(requirement, {""}):
                _gather(requirement, distributions)
        for distribution in distributions.values():
            for top in {file.parts[0] for file in distribution.files or ()} - {".."}:
                _link(site / top, Path(str(distribution.locate_file(top))))
        _link(site / "orchestrator", PROJECT / "orchestrator")

    def in_checkout(self) -> ClientOnly:
        """Return a copy that also has the project's other packages."""
        other = copy(self)
        other.paths = [PROJECT, self.site]
        return other

    def run(self, code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run code with arguments, in an empty folder."""
        return subprocess.run(
            [sys.executable, "-S", "-c", code, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, self.paths))},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    def plates(self, *arguments: object) -> CommandResult:
        """Run a command of `plates`."""
        return self.plates_in_turn(arguments)[0]

    def plates_in_turn(self, *commands: Sequence[object]) -> list[CommandResult]:
        """Run several `plates` commands in one process, because its start takes long."""
        arguments = json.dumps([[*map(str, command)] for command in commands])
        return [
            CommandResult(*result) for result in json.loads(self.run(COMMANDS, arguments).stdout)
        ]


def _gather(requirement: Requirement, distributions: dict[str, metadata.Distribution]) -> None:
    """Add a requirement's packages, and those of its own requirements."""
    key = f"{requirement.name} {sorted(requirement.extras)}"
    if key in distributions:
        return
    distributions[key] = metadata.distribution(requirement.name)
    for inner in map(Requirement, distributions[key].requires or ()):
        if _is_for(inner, {"", *requirement.extras}):
            _gather(inner, distributions)


def _is_for(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)


def _link(link: Path, target: Path) -> None:
    if target.exists() and not link.exists():
        link.symlink_to(target)
