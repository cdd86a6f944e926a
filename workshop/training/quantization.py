"""Quantisation of trained networks to 8 bits with rendered plates; needs the package `nncf`.

This is post-training quantisation: weights per channel, activations per tensor. Our pictures give
the ranges, and the biases are corrected layer by layer. Some operations stay in float32:

- The detector's operations after its last convolutions. Eight bits are too few for the position
  of a box on a picture of 960 pixels.
- The reader's first convolution, its last two, and the contexts between them. In 8 bits these
  cost one plate in thirteen. The other convolutions make 97 % of the multiplications; in 8 bits
  they cost 2 plates of 1,712.

Source: Nagel et al. 2021, "A White Paper on Neural Network Quantization"; NNCF's documentation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import torch
from numpy.typing import NDArray

from orchestrator.contract import DETECTOR, READER, RECTIFIER
from orchestrator.detection.letterbox import letterbox
from orchestrator.errors import SettingsError
from orchestrator.networks import openvino_ir, quantized
from orchestrator.networks.export import load
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import WEIGHTS, check_listed, choose_formats, list_sums
from orchestrator.settings import Settings
from workshop.rendering.country import Country, country_of
from workshop.training.reader.sample_pools import to_input
from workshop.training.reader.sample_workers import make_batch
from workshop.training.reader.sources import RenderedPlates
from workshop.training.streets import draw_streets

Input = NDArray[np.uint8] | NDArray[np.float32]
Ignored = Callable[[openvino.Model], list[str]]
OF_CONTEXTS = {"AvgPool", "Multiply", "ReduceMean", "Maximum", "Divide", "Concat"}
"""Types of the operations between the reader's convolutions and its last one."""
OF_SIGNS = {"ReduceSum", "ReduceMax"}
"""Types of the operations with which `TwoReaders` looks for a sign: in 8 bits it finds none."""

log = logging.getLogger(__name__)


def write_quantized(
    weights: Path = WEIGHTS,
    pictures: int = 60,
    plates: int = 300,
    seed: int = 77,
    formats: Path | None = None,
) -> list[Path]:
    """Write the detector and the reader of a folder in 8-bit integers into the same folder.

    Args:
        weights: The folder; its SHA256SUMS is updated.
        pictures: Number of rendered pictures to calibrate the detector with.
        plates: Number of rendered plates to calibrate the reader with.
        seed: Seed of the pictures and plates.
        formats: Formats file of the country of the plates; the weights' own when None.

    Raises:
        SettingsError: The package `nncf` is not installed, a network is foreign, or the country
            cannot be drawn.
        WeightsError: A weight file is missing, or does not match SHA256SUMS.
    """
    nncf = _nncf()  # fail early if it is missing
    formats = formats or choose_formats(weights)
    country = country_of(formats)
    for name in (DETECTOR, READER):
        quantized.check_ours(name, weights)
    log.info("rendering %d pictures and %d plates", pictures, plates)
    paths = [
        _write(nncf, DETECTOR, render_inputs(pictures, seed, country), after_convolutions, weights),
        _write(
            nncf, READER, render_crops(plates, seed, formats, weights), ends_and_contexts, weights
        ),
    ]
    list_sums(weights)
    return paths


def _write(nncf: Any, name: str, inputs: Sequence[Input], ignored: Ignored, weights: Path) -> Path:
    """Write the 8-bit form of a network, with the sum of the weights that it comes from."""
    source = check_listed(weights / NETWORKS[name].weights)
    model = openvino_ir.convert(NETWORKS[name], load(name, weights))
    small = quantize_model(nncf, model, inputs, ignored(model))
    small.set_rt_info(source, quantized.SOURCE)
    path = quantized.file_of(name, weights)
    openvino_ir.save(small, path)
    return path


def render_inputs(count: int, seed: int, country: Country | None = None) -> list[Input]:
    """Render streets as the detector sees them: uint8 (1, H, W, 3) BGR; Russian by default."""
    side = Settings().detector_side_px
    streets = draw_streets(count, seed, country)
    pictures = (np.ascontiguousarray(street.picture) for street in streets)
    return [letterbox(torch.from_numpy(picture), side).net.numpy() for picture in pictures]


@torch.inference_mode()
def render_crops(count: int, seed: int, formats: Path, weights: Path) -> list[Input]:
    """Render plates as the reader sees them, straightened by STN: float32 (1, 3, 24, 94)."""
    batch = make_batch(RenderedPlates(formats), count, seed, workers=0)
    straight, _ = load(RECTIFIER, weights)(to_input(torch.from_numpy(batch.crops)))
    return [crop.numpy() for crop in straight.split(1)]


def _nncf() -> Any:
    try:
        import nncf
    except ImportError as error:
        raise SettingsError(
            "the package nncf is not installed; run in the environment of make train-env"
        ) from error
    return nncf


def quantize_model(
    nncf: Any, model: openvino.Model, inputs: Sequence[Input], ignored: Sequence[str]
) -> openvino.Model:
    """Quantise a network."""
    return nncf.quantize(
        model,
        nncf.Dataset(inputs),
        preset=nncf.QuantizationPreset.MIXED,
        subset_size=len(inputs),
        fast_bias_correction=False,  # the fast correction loses two plates of 214
        ignored_scope=nncf.IgnoredScope(names=list(ignored), validate=False),
    )


def after_convolutions(model: openvino.Model) -> list[str]:
    """Return the names of the operations after the last convolutions: the decoding of boxes."""
    operations = model.get_ordered_ops()
    pending = [operation for operation in operations if operation.get_type_name() == "Convolution"]
    before: set[str] = set()
    while pending:
        operation = pending.pop()
        if operation.get_friendly_name() not in before:
            before.add(operation.get_friendly_name())
            pending += [value.get_source_output().get_node() for value in operation.inputs()]
    bare = {"Constant", "Parameter", "Result"}
    return [
        operation.get_friendly_name()
        for operation in operations
        if operation.get_friendly_name() not in before and operation.get_type_name() not in bare
    ]


def ends_and_contexts(model: openvino.Model) -> list[str]:
    """Return the names of what stays in floats: ends and contexts of each LPRNet, and the signs."""
    return [
        operation.get_friendly_name()
        for operation in model.get_ordered_ops()
        if operation.get_type_name() in OF_CONTEXTS | OF_SIGNS
        or (operation.get_type_name() == "Convolution" and _is_end(operation))
    ]


def _is_end(convolution: openvino.Node) -> bool:
    """Tell whether a convolution of LPRNet is its first one or one of its last two."""
    rows, columns = convolution.input(1).get_partial_shape()[2:]
    source = convolution.input_value(0).get_node().get_type_name()
    return source in {"Parameter", "Concat"} or (rows, columns) == (13, 1)
