"""Checks out commits into temporary worktrees, and starts Python from there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cli.workshop import CHECKOUT
from orchestrator.errors import DataError

LOCK = "poetry.lock"
FIND_PACKAGE = "import orchestrator; print(orchestrator.__path__[0])"


@dataclass(frozen=True)
class Commit:
    """A commit: its hash and the first line of its message."""

    sha: str
    subject: str

    @property
    def short(self) -> str:
        return self.sha[:9]


@dataclass(frozen=True)
class Repository:
    """A Git repository, as a folder that Git works on."""

    folder: Path = CHECKOUT

    def find_commit(self, name: str) -> Commit:
        """Return the commit of a hash, a branch or a tag.

        Raises:
            DataError: There is no such commit.
        """
        try:
            output = self._git("log", "-1", "--format=%H%n%s", name, "--")
        except DataError as error:
            raise DataError(f"commit: wanted a commit of this repository, got {name}") from error
        sha, _, subject = output.partition("\n")
        return Commit(sha, subject)

    def has_other_lock(self, commit: Commit) -> bool:
        """Tell whether the versions that a commit locks differ from those of this checkout."""
        return bool(self._git("diff", "--name-only", commit.sha, "--", LOCK))

    def has_changes(self) -> bool:
        """Tell whether tracked files have changes that are in no commit."""
        return bool(self._git("status", "--porcelain", "--untracked-files=no"))

    @contextmanager
    def check_out(self, commit: Commit, folder: Path) -> Iterator[Path]:
        """Check out a commit into a new folder for the length of a `with` block.

        Raises:
            DataError: Git cannot do that.
        """
        try:
            self._git("worktree", "add", "--detach", "--force", str(folder), commit.sha)
            yield folder
        finally:
            if folder.exists():
                self._git("worktree", "remove", "--force", "--force", str(folder))

    def _git(self, *arguments: str) -> str:
        try:
            result = subprocess.run(
                ["git", *arguments], cwd=self.folder, capture_output=True, text=True, check=True
            )
        except FileNotFoundError as error:
            raise DataError("git: wanted the program, got none") from error
        except subprocess.CalledProcessError as error:
            raise DataError(f"git {arguments[0]}: {error.stderr.strip()}") from error
        return result.stdout.strip()


def choose_variables(tree: Path) -> dict[str, str]:
    """Return the environment variables with which this Python imports the code of a folder."""
    return {"PYTHONPATH": str(tree)}


def check_imports(tree: Path, variables: Mapping[str, str]) -> None:
    """Check that Python imports the package of this folder, and not that of another checkout.

    Raises:
        DataError: It imports another one, or none.
    """
    result = subprocess.run(
        [sys.executable, "-c", FIND_PACKAGE], env=dict(variables), cwd="/", capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    got = result.stdout.strip() or (result.stderr.strip().splitlines() or ["nothing"])[-1]
    if not Path(got).resolve().is_relative_to(tree.resolve()):
        raise DataError(f"orchestrator: wanted the package in {tree}, got {got}")
