"""Turns trained networks into files for an engine, or into an `Infer` in this process."""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from orchestrator.contract import DETECTOR
from orchestrator.detection.letterbox import STRIDE
from orchestrator.errors import SettingsError, WeightsError
from orchestrator.formats.plate_formats import Formats, read_formats, russian
from orchestrator.host.disk_files import part_of, sync
from orchestrator.networks.detectors import load_detector, move
from orchestrator.networks.engines import Engine, choose
from orchestrator.networks.registry import EXPORTED, NETWORKS, choose_engine, is_archive
from orchestrator.networks.runs import Networks, Run, run_openvino, run_torchscript
from orchestrator.networks.state_dicts import load_state, pop_alphabet
from orchestrator.networks.weights import WEIGHTS, check_alphabet, choose_formats
from orchestrator.networks.yolo import Yolo

FULL = 1 << 16
"""Bytes that a disk must have free; with less there is no space for a network."""


def load(name: str, weights: Path = WEIGHTS, formats: Formats | None = None) -> nn.Module:
    """Return a network of the registry with its trained weights, or a step, ready to infer.

    Args:
        name: Name of the network or step.
        weights: Folder of the weights.
        formats: Plates in the alphabet of the weights; None means those that they were trained for.

    Raises:
        WeightsError: The weight file is missing, is not the listed one, or is for another alphabet.
            Or it is an archive that is no detector.
    """
    if name == DETECTOR and is_archive(weights / NETWORKS[name].weights):
        return load_detector(weights / NETWORKS[name].weights)
    if not EXPORTED[name].weights:
        return EXPORTED[name].build(formats or russian(), {}).eval()
    plates, state = _load_checked(name, weights, formats)
    file = weights / NETWORKS[name].weights
    network = EXPORTED[name].build(plates, state)
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise WeightsError(
            f"{file}: wanted weights of {type(network).__name__} for these plate formats, got "
            f"others: {str(error).splitlines()[-1].strip()}"
        ) from error
    return network.eval()


def load_for(
    engine: Engine, name: str, weights: Path = WEIGHTS, formats: Formats | None = None
) -> nn.Module:
    """Return a network as `load` does, in the numbers of an engine of TorchScript."""
    network = load(name, weights, formats)
    if choose_engine(name, weights, engine) is Engine.TORCHSCRIPT_FP16:
        assert isinstance(network, Yolo)
        return network.to_float16()
    return network


def _load_checked(
    name: str, weights: Path, formats: Formats | None
) -> tuple[Formats, dict[str, Tensor]]:
    """Return the plate formats and a network's state dict, which have the same alphabet."""
    plates, state = _agree(weights, formats), load_state(name, weights)
    file, alphabet = weights / NETWORKS[name].weights, pop_alphabet(state)
    if alphabet is not None and alphabet != plates.alphabet:
        raise WeightsError(
            f"{file}: wanted plate formats in the alphabet that it was trained for, {alphabet}, "
            f"got {plates.alphabet}"
        )
    return plates, state


def _agree(weights: Path, formats: Formats | None) -> Formats:
    """Return the given formats, checked against the weights' alphabet; else the weights' own."""
    if formats is None:
        return read_formats(choose_formats(weights))
    check_alphabet(weights, formats)
    return formats


def script(network: nn.Module) -> torch.jit.ScriptModule:
    """Compile a network to frozen TorchScript, batch normalisation folded into the convolutions.

    A foreign detector is TorchScript already, and stays as it is.
    """
    if isinstance(network, torch.jit.ScriptModule):
        return network
    with warnings.catch_warnings():  # deprecated, but Triton's PyTorch backend serves it best
        warnings.simplefilter("ignore", DeprecationWarning)
        frozen: torch.jit.ScriptModule = torch.jit.freeze(torch.jit.script(network.eval()))
    return frozen


def write_network(
    name: str,
    path: Path,
    weights: Path = WEIGHTS,
    engine: Engine = Engine.TORCHSCRIPT,
    formats: Formats | None = None,
) -> None:
    """Write a network or step as the `model.pt` or `model.xml` that Triton serves.

    A reader of the file never sees half of it.

    Args:
        name: Name of the network or step.
        path: The file.
        weights: Folder of the weights.
        engine: The engine for the file; not `auto`. `choose_engine` tells whether it can run this
            network.
        formats: Plates in the alphabet of the weights; None means those that they were trained for.

    Raises:
        SettingsError: It cannot be written.
        WeightsError: The weight file is missing, is not the listed one, or is for another alphabet.
    """
    if choose_engine(name, weights, engine).is_openvino:
        from orchestrator.networks import openvino_ir

        network = represent(name, weights, engine, formats)
        with _writing(path):
            openvino_ir.save(network, path)
    else:
        model = script(load_for(engine, name, weights, formats))
        with _writing(path):
            _save(model, path)


def _save(model: torch.jit.ScriptModule, path: Path) -> None:
    buffer = BytesIO()  # PyTorch itself aborts the process when it writes to a full disk
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(model, buffer)
    part = part_of(path)
    part.write_bytes(buffer.getbuffer())
    sync(part)
    part.replace(path)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise an error with the reason if a file cannot be written; leave no part of it behind."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except (OSError, RuntimeError) as error:  # RuntimeError: the libraries raise it for a full disk
        reason = _reason(error, path.parent)
        raise SettingsError(f"{path}: cannot be written: {reason}") from error
    finally:  # also after Ctrl-C
        for part in path.parent.glob(f"{part_of(path).stem}.*"):
            part.unlink(missing_ok=True)


def _reason(error: OSError | RuntimeError, folder: Path) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if shutil.disk_usage(folder).free < FULL:
        return os.strerror(errno.ENOSPC)
    return str(error).strip().splitlines()[0]


def load_networks(
    weights: Path = WEIGHTS,
    device: str | torch.device = "cpu",
    engine: Engine = Engine.AUTO,
    threads: int = 0,
    *,
    formats: Formats | None = None,
) -> Networks:
    """Load the three networks into this process; `recognize` then needs no server.

    Args:
        weights: Folder of the weights.
        device: Device for TorchScript; OpenVINO runs on the CPU.
        engine: The engine; a foreign detector always uses TorchScript.
        threads: CPU threads of one inference of OpenVINO, all cores when 0; TorchScript uses
            PyTorch's own setting.
        formats: Plates in the alphabet of the weights; None means those that they were trained for.

    Raises:
        WeightsError: A weight file is missing, is not the listed one, or is for another alphabet.
            Or the detector breaks its contract.
    """
    device, formats = torch.device(device), _agree(weights, formats)
    engine = choose(engine, on_gpu=device.type != "cpu")
    threads = threads or len(os.sched_getaffinity(0))
    runs: dict[str, Run] = {}
    for name in NETWORKS:
        if choose_engine(name, weights, engine).is_openvino:
            runs[name] = run_openvino(represent(name, weights, engine, formats), threads)
        else:
            runs[name] = _torchscript(load_for(engine, name, weights, formats), device)
    return Networks(runs, formats)


def represent(
    name: str,
    weights: Path = WEIGHTS,
    engine: Engine = Engine.OPENVINO,
    formats: Formats | None = None,
) -> Any:
    """Return a network as an `openvino.Model`.

    If 8-bit integers are asked for, the network is in these if such a file exists. Its floats may
    run in bfloat16, if it bears that.

    Raises:
        SettingsError: It is a foreign detector, which runs as TorchScript.
        WeightsError: A weight file is missing, is not the listed one, or is for another alphabet.
    """
    from orchestrator.networks import openvino_ir, quantized

    quantized.check_ours(name, weights)
    model = quantized.read(name, weights) if engine is Engine.OPENVINO_INT8 else None
    if model is None:
        model = openvino_ir.convert(NETWORKS[name], load(name, weights, formats))
    else:
        _load_checked(name, weights, formats)  # the 8-bit form does not name its alphabet
    if engine is Engine.OPENVINO_INT8 and NETWORKS[name].bears_bfloat16:
        openvino_ir.allow_bfloat16(model)
    if name == DETECTOR:
        openvino_ir.set_stride(model, STRIDE)
    return model


def _torchscript(network: nn.Module, device: torch.device) -> Run:
    if isinstance(network, torch.jit.ScriptModule):
        return run_torchscript(move(network, device), device)
    return run_torchscript(script(network.to(device)), device)
