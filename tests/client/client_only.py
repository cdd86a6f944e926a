"""A Python that has what a client needs and none of the packages that only serving needs."""

from __future__ import annotations

import os
import subprocess
import sys
from copy import copy
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from tests.samples import PROJECT


class ClientOnly:
    """Runs Python with a folder of links to the packages of a client alone."""

    def __init__(self, site: Path) -> None:
        self.site = site
        self.paths = [site]
        needed = {"orchestrator": metadata.distribution("orchestrator")}
        for requirement in map(Requirement, metadata.requires("orchestrator") or ()):
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

    def plates(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run the command `plates`."""
        return self.run("from orchestrator.cli.app import app; app()", *arguments)


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
