"""Quantisation of trained networks to 8 bits with rendered pictures; needs the package `nncf`.

This is post-training quantisation: weights per channel, activations per tensor. Our pictures give
the ranges, and the biases are corrected layer by layer. Operations after the last convolutions stay
in float32. Eight bits are too few for the position of a box on a picture of 960 pixels.

Source: Nagel et al. 2021, "A White Paper on Neural Network Quantization"; NNCF's documentation.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import torch
from numpy.typing import NDArray

from orchestrator.contract import DETECTOR
from orchestrator.detection.letterbox import letterbox
from orchestrator.errors import SettingsError
from orchestrator.networks import openvino_ir, quantized
from orchestrator.networks.export import load
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import WEIGHTS, check_listed, choose_formats, list_sums
from orchestrator.settings import Settings
from workshop.rendering.country import Country, country_of
from workshop.training.streets import draw_streets

log = logging.getLogger(__name__)


def write_quantized(
    weights: Path = WEIGHTS, pictures: int = 60, seed: int = 77, formats: Path | None = None
) -> Path:
    """Write the detector of a folder of weights in 8-bit integers into the same folder.

    Args:
        weights: The folder; its SHA256SUMS is updated.
        pictures: Number of rendered pictures to calibrate with.
        seed: Seed of the pictures.
        formats: Formats file of the country of the plates; the weights' own when None.

    Raises:
        SettingsError: The package `nncf` is not installed, or the country cannot be drawn.
        WeightsError: The weight file is missing, or does not match SHA256SUMS.
    """
    nncf = _nncf()  # fail early if it is missing
    country = country_of(formats or choose_formats(weights))
    quantized.check_ours(DETECTOR, weights)
    source = check_listed(weights / NETWORKS[DETECTOR].weights)
    model = openvino_ir.convert(NETWORKS[DETECTOR], load(DETECTOR, weights))
    log.info("rendering %d pictures", pictures)
    small = quantize_model(nncf, model, render_inputs(pictures, seed, country))
    small.set_rt_info(source, quantized.SOURCE)
    path = quantized.file_of(DETECTOR, weights)
    openvino_ir.save(small, path)
    list_sums(weights)
    return path


def render_inputs(count: int, seed: int, country: Country | None = None) -> list[NDArray[np.uint8]]:
    """Render streets as the detector sees them: uint8 (1, H, W, 3) BGR; Russian by default."""
    side = Settings().detector_side_px
    streets = draw_streets(count, seed, country)
    pictures = (np.ascontiguousarray(street.picture) for street in streets)
    return [letterbox(torch.from_numpy(picture), side).net.numpy() for picture in pictures]


def _nncf() -> Any:
    try:
        import nncf
    except ImportError as error:
        raise SettingsError(
            "the package nncf is not installed; run in the environment of make train-env"
        ) from error
    return nncf


def quantize_model(
    nncf: Any, model: openvino.Model, inputs: Sequence[NDArray[np.uint8]]
) -> openvino.Model:
    """Quantise a network.

    Args:
        nncf: The package `nncf`.
        model: Network in float32.
        inputs: Pictures to calibrate with.
    """
    return nncf.quantize(
        model,
        nncf.Dataset(inputs),
        preset=nncf.QuantizationPreset.MIXED,
        subset_size=len(inputs),
        fast_bias_correction=False,  # the fast correction loses two plates of 214
        ignored_scope=nncf.IgnoredScope(names=after_convolutions(model), validate=False),
    )


def after_convolutions(model: openvino.Model) -> list[str]:
    """Return the names of the operations after the last convolutions: the decoding of boxes."""
    operations = model.get_ordered_ops()
    pending = [one for one in operations if one.get_type_name() == "Convolution"]
    before: set[str] = set()
    while pending:
        operation = pending.pop()
        if operation.get_friendly_name() not in before:
            before.add(operation.get_friendly_name())
            pending += [value.get_source_output().get_node() for value in operation.inputs()]
    bare = {"Constant", "Parameter", "Result"}
    return [
        one.get_friendly_name()
        for one in operations
        if one.get_friendly_name() not in before and one.get_type_name() not in bare
    ]
