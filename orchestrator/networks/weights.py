"""Files of weights, each listed with its SHA-256 in the `SHA256SUMS` beside it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from orchestrator.errors import WeightsError

WEIGHTS = Path(__file__).resolve().parents[2] / "weights"
LISTED = re.compile(r"(\.pth?|\.int8\.(xml|bin))$")
"""Files that SHA256SUMS lists."""


def check_listed(path: Path) -> str:
    """Compare a weight file with its line in SHA256SUMS and return its SHA-256.

    Raises:
        WeightsError: The file or its line is missing, or they differ.
    """
    if not path.is_file():
        raise WeightsError(f"weights: no such file: {path}")
    listed = _listed(path.parent).get(path.name)
    actual = sha256(path)
    if actual != listed:
        raise WeightsError(
            f"{path}: wanted SHA-256 {listed or 'listed in SHA256SUMS'}, got {actual}; "
            f"after training, run: cd {path.parent} && sha256sum *.pt* *.int8.* > SHA256SUMS"
        )
    return actual


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def list_sums(folder: Path) -> list[str]:
    """Write SHA256SUMS of the weights that a folder has, and return their file names."""
    present = sorted(file.name for file in folder.iterdir() if LISTED.search(file.name))
    lines = [f"{sha256(folder / file)}  {file}\n" for file in present]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    return present


def _listed(folder: Path) -> dict[str, str]:
    sums = folder / "SHA256SUMS"
    if not sums.is_file():
        return {}
    lines = (line.split(maxsplit=1) for line in sums.read_text().splitlines() if line.strip())
    return {name.lstrip("*"): digest for digest, name in lines}
