"""A Python that has what a client needs and none of the packages that only serving needs."""

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


class Done(NamedTuple):
    """The end of a command."""

    returncode: int
    stdout: str
    stderr: str


class ClientOnly:
    """Runs Python with a folder of links to the packages of a client alone."""

    def __init__(self, site: Path) -> None:
        self.site = site
        self.paths = [site]
        needed = {NAME: metadata.distribution(NAME)}
        for requirement in map(Requirement, metadata.requires(NAME) or ()):
            if _is_for(requirement, {""}):
                _gather(requirement, needed)
        for distribution in needed.values():
            for top in {file.parts[0] for file in distribution.files or ()} - {".."}:
                _link(site / top, Path(str(distribution.locate_file(top))))
        _link(site / "orchestrator", PROJECT / "orchestrator")

    def in_checkout(self) -> ClientOnly:
        """Return the same with the project's other packages beside it."""
        other = copy(self)
        other.paths = [PROJECT, self.site]
        return other

    def run(self, code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run code with arguments, in a folder without anything to import."""
        return subprocess.run(
            [sys.executable, "-S", "-c", code, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, self.paths))},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    def plates(self, *arguments: object) -> Done:
        """Run a command of `plates`."""
        return self.plates_in_turn(arguments)[0]

    def plates_in_turn(self, *commands: Sequence[object]) -> list[Done]:
        """Run commands of `plates` one after the other, in one process: it takes long to start."""
        arguments = json.dumps([[*map(str, command)] for command in commands])
        return [Done(*done) for done in json.loads(self.run(COMMANDS, arguments).stdout)]


def _gather(requirement: Requirement, needed: dict[str, metadata.Distribution]) -> None:
    """Add what a requirement installs, with all that it needs itself."""
    key = f"{requirement.name} {sorted(requirement.extras)}"
    if key in needed:
        return
    needed[key] = metadata.distribution(requirement.name)
    for inner in map(Requirement, needed[key].requires or ()):
        if _is_for(inner, {"", *requirement.extras}):
            _gather(inner, needed)


def _is_for(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)


def _link(link: Path, target: Path) -> None:
    if target.exists() and not link.exists():
        link.symlink_to(target)
