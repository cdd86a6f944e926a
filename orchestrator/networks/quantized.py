"""Networks in 8-bit integers: `weights/NAME.int8.xml` and `.bin`, made by `plates quantize`."""

from __future__ import annotations

import logging
from pathlib import Path

import openvino

from orchestrator.errors import SettingsError
from orchestrator.networks.openvino_ir import weights_of
from orchestrator.networks.registry import NETWORKS, is_archive
from orchestrator.networks.weights import WEIGHTS, check_listed

SOURCE = ["plates", "weights_sha256"]
"""Key in a quantised network for the weights that it comes from."""

logger = logging.getLogger(__name__)


def file_of(name: str, weights: Path = WEIGHTS) -> Path:
    """Return the path of the quantised form of a network."""
    return weights / f"{name}.int8.xml"


def check_ours(name: str, weights: Path = WEIGHTS) -> None:
    """Check that a network is ours, so that OpenVINO can run it, also in 8-bit integers.

    Raises:
        SettingsError: It is foreign: a TorchScript archive.
    """
    file = weights / NETWORKS[name].weights
    if is_archive(file):
        raise SettingsError(
            f"{file}: wanted a state dict for OpenVINO and 8-bit integers, got a TorchScript "
            "archive, which runs as it is"
        )


def read(name: str, weights: Path = WEIGHTS) -> openvino.Model | None:
    """Read the quantised form of a network; None if there is none for these weights.

    Raises:
        WeightsError: A file is not the one that SHA256SUMS lists.
    """
    path, source = file_of(name, weights), NETWORKS[name].weights
    if not path.is_file():
        return None
    for file in (path, weights_of(path)):
        check_listed(file)
    model = openvino.Core().read_model(path)
    if model.get_rt_info(SOURCE).astype(str) == check_listed(weights / source):
        return model
    logger.warning(
        "%s: made from other weights than %s, which is served in float32; run plates quantize",
        path,
        source,
    )
    return None
