"""The two text networks, from the installed package that contains them."""

import importlib.util
from pathlib import Path

import numpy as np
import openvino

from orchestrator.errors import SettingsError
from orchestrator.networks.openvino_ir import Array, Compiled


def read(part: str) -> openvino.Model:
    """Return the network for `det` or `rec`."""
    package = importlib.util.find_spec("rapidocr")
    if package is None or package.origin is None:
        raise SettingsError("text networks: wanted a package: pip install 'rapidocr>=3.10,<4'")
    models = Path(package.origin).parent / "models"
    return openvino.Core().read_model(models / f"PP-OCRv6_{part}_small.onnx")


def read_alphabet() -> str:
    """Return the character of each class, first the blank's."""
    lines = read("rec").get_rt_info(["framework", "character"]).astype(str)
    return f"\0{lines} ".replace("\n", "")


def recognise(network: Compiled, crops: Array) -> tuple[Array, Array]:
    """Return, for crops [N, 3, 48, W], the best class of each step of 8 pixels and its probability.

    On a CPU, line by line is as quick as a batch. It also avoids having the 18,710 probabilities of
    every step at once, 240 MB for a page of 36 lines.
    """
    lines = (network(crop[None])[0][0] for crop in crops)
    classes, probs = zip(*((line.argmax(1), line.max(1)) for line in lines), strict=True)
    return np.array(classes, np.int32), np.array(probs)
