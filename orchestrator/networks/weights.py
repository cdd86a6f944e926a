"""Files of weights and of their plate formats, listed by SHA-256 in their SHA256SUMS."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from orchestrator.contract import FORMATS_FILE
from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import Formats, read_formats

WEIGHTS = Path(__file__).resolve().parents[2] / "weights"
LISTED = re.compile(rf"^(yolo\.pt|\w+\.pth|\w+\.int8\.(xml|bin)|{re.escape(FORMATS_FILE)})$")
"""Files that SHA256SUMS lists."""


def check_listed(path: Path) -> str:
    """Compare a weight file with its line in SHA256SUMS and return its SHA-256.

    Raises:
        WeightsError: The file or its line is missing, or they differ.
    """
    if not path.is_file():
        raise WeightsError(f"weights: no such file: {path}")
    listed_sum = _read_sums(path.parent).get(path.name)
    actual_sum = sha256(path)
    if actual_sum != listed_sum:
        raise WeightsError(
            f"{path}: wanted SHA-256 {listed_sum or 'listed in SHA256SUMS'}, got {actual_sum}; "
            f"after training, run: cd {path.parent} && sha256sum *.pt* *.int8.* {FORMATS_FILE} > "
            "SHA256SUMS"
        )
    return actual_sum


def choose_formats(folder: Path = WEIGHTS, file: Path | None = None) -> Path:
    """Return the file of the plate formats for a folder's weights.

    Args:
        folder: Folder of the weights, with the formats that they were trained with.
        file: Another file, in the same alphabet.

    Raises:
        SettingsError: A file is not a valid file of formats.
        WeightsError: The folder is missing, has no formats or not the listed ones, or the alphabets
            differ.
    """
    if not folder.is_dir():
        raise WeightsError(f"weights: no such folder: {folder}")
    own = folder / FORMATS_FILE
    if not own.is_file():
        raise WeightsError(
            f"{folder}: wanted {FORMATS_FILE}, the plates that its weights were trained for, got "
            "none; put that of their training there and renew SHA256SUMS"
        )
    check_listed(own)
    if file is None:
        return own
    check_alphabet(folder, read_formats(file))
    return file


def check_alphabet(folder: Path, formats: Formats) -> None:
    """Check that formats have the alphabet, in the same order, that a folder's weights read.

    Raises:
        WeightsError: They have another.
    """
    alphabet = read_formats(choose_formats(folder)).alphabet
    if formats.alphabet != alphabet:
        raise WeightsError(
            f"{folder}: wanted plate formats in the alphabet of its weights, {alphabet}, got "
            f"{formats.alphabet}"
        )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def list_sums(folder: Path) -> list[str]:
    """Write the SHA256SUMS of the weights in a folder; return their file names."""
    names = sorted(file.name for file in folder.iterdir() if LISTED.search(file.name))
    lines = [f"{sha256(folder / file)}  {file}\n" for file in names]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    return names


def _read_sums(folder: Path) -> dict[str, str]:
    sums = folder / "SHA256SUMS"
    if not sums.is_file():
        return {}
    lines = (line.split(maxsplit=1) for line in sums.read_text(errors="replace").splitlines())
    return {line[1].lstrip("*"): line[0] for line in lines if len(line) == 2}
