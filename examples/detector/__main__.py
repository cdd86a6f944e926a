"""Make a folder of weights with somebody else's detector: `--help` says how."""

import argparse
import json
import shutil
import sys
from pathlib import Path

import torch

from examples.detector.adapter import Adapter
from orchestrator.errors import PlateError, SettingsError, WeightsError
from orchestrator.networks.detectors import load_detector
from orchestrator.networks.weights import WEIGHTS, check_listed, list_sums

DETECTOR = "yolo.pt"
LEFT_OUT = ("yolo.", "SHA256SUMS", "README", "figures.json")
"""Prefixes of files that are not copied: those of the replaced detector, and those written anew."""
DESCRIPTION = "config.txt"
"""Name in the archive of the options of its export, as JSON."""


def read_export(path: Path) -> tuple[torch.jit.ScriptModule, tuple[int, int]]:
    """Load an export, and find out its input size.

    Returns:
        The module, and height and width; (0, 0) if it accepts any size or does not say.

    Raises:
        WeightsError: It is no TorchScript archive that this PyTorch can load.
    """
    extra = {DESCRIPTION: ""}
    try:
        module = torch.jit.load(path, map_location="cpu", _extra_files=extra)
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise WeightsError(f"{path}: wanted TorchScript, got {reason}") from error
    description = json.loads(extra[DESCRIPTION] or "{}")
    if description.get("args", {}).get("dynamic") or "imgsz" not in description:
        return module, (0, 0)
    height, width = description["imgsz"]
    return module, (height, width)


def write_weights(export: Path, out: Path, base: Path = WEIGHTS) -> list[str]:
    """Write a folder of weights with an export as its detector.

    Args:
        export: The file that `yolo export format=torchscript` writes.
        out: The folder to write; it is made if it does not exist.
        base: The folder that the other files come from.

    Returns:
        The names of the weight files that are listed there.

    Raises:
        SettingsError: The folder is the same as that of the other files.
        WeightsError: The export cannot be loaded, or breaks the contract of a detector.
    """
    if out.resolve() == base.resolve():
        raise SettingsError(f"out: wanted another folder than the weights' own, got {out}")
    theirs, size_hw = read_export(export)
    try:
        adapted = torch.jit.script(Adapter(theirs, size_hw).eval())
    except RuntimeError as error:  # the lines after the first are code
        reason = str(error).strip().splitlines()[0]
        raise WeightsError(f"{export}: wanted a tensor for a tensor, got {reason}") from error
    out.mkdir(parents=True, exist_ok=True)
    for file in base.iterdir():
        if file.is_file() and not file.name.startswith(LEFT_OUT):
            shutil.copyfile(file, out / file.name)
    torch.jit.save(adapted, out / DETECTOR)
    list_sums(out)
    load_detector(out / DETECTOR)  # else serving it would fail later
    return list_sums(out)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.detector", description=__doc__)
    parser.add_argument("export", type=Path, help="what yolo export format=torchscript wrote")
    parser.add_argument("--out", type=Path, required=True, help="folder of weights to write")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="where the others come from")
    options = parser.parse_args(arguments)
    try:
        files = write_weights(options.export, options.out, options.weights)
        digest = check_listed(options.out / DETECTOR)
    except PlateError as error:
        sys.exit(f"detector: {error}")
    print(f"{options.out}: {', '.join(files)}")
    print(f"the detector: SHA-256 {digest[:12]}...; plates serve --weights {options.out}")


if __name__ == "__main__":
    main()
