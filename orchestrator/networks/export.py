"""From trained networks to the files that an engine serves, and to an `Infer` in this process."""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from orchestrator.errors import SettingsError
from orchestrator.networks.engines import Engine, chosen
from orchestrator.networks.lprnet import LPRNet
from orchestrator.networks.stn import STN
from orchestrator.networks.weights import WEIGHTS, load_state
from orchestrator.networks.yolo import Yolo
from orchestrator.pipeline import Infer

NETWORKS: dict[str, type[nn.Module]] = {"yolo": Yolo, "stn": STN, "lprnet": LPRNet}
FULL = 1 << 16
"""Bytes: a disk with less room has none for a network."""


def load(name: str, weights: Path = WEIGHTS) -> nn.Module:
    """Return `yolo`, `stn` or `lprnet` with its trained weights, ready to infer.

    Raises:
        WeightsError: The weight file is missing or not the listed one.
    """
    network = NETWORKS[name]()
    network.load_state_dict(load_state(name, weights))
    return network.eval()


def scripted(network: nn.Module) -> torch.jit.ScriptModule:
    """Compile a network to frozen TorchScript, batch normalisation folded into the convolutions."""
    with warnings.catch_warnings():  # deprecated, yet what Triton's PyTorch backend serves best
        warnings.simplefilter("ignore", DeprecationWarning)
        frozen: torch.jit.ScriptModule = torch.jit.freeze(torch.jit.script(network.eval()))
    return frozen


def export(
    name: str, path: Path, weights: Path = WEIGHTS, engine: Engine = Engine.TORCHSCRIPT
) -> None:
    """Write a network as the `model.pt` or `model.xml` that Triton serves.

    A reader never sees half a file.

    Raises:
        SettingsError: It cannot be written.
        WeightsError: The weight file is missing or not the listed one.
    """
    if engine.is_openvino:
        from orchestrator.networks import ir

        network = represented(name, weights, engine)
        with _writing(path):
            ir.save(network, path)
    else:
        model = scripted(load(name, weights))
        with _writing(path):
            _save(model, path)


def _save(model: torch.jit.ScriptModule, path: Path) -> None:
    encoded = BytesIO()  # PyTorch, writing a file itself, aborts the process on a full disk
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(model, encoded)
    part = path.with_name(f"part.{path.name}")
    part.write_bytes(encoded.getbuffer())
    part.replace(path)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say in one sentence why a file cannot be written, and leave no half of it behind."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except (OSError, RuntimeError) as error:  # the libraries' own for a full disk
        reason = _reason(error, path.parent)
        for part in path.parent.glob(f"part.{path.stem}.*"):
            part.unlink(missing_ok=True)
        raise SettingsError(f"{path}: wanted to write here, got {reason}") from error


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
) -> Infer:
    """Load the three networks into this process: what `recognize` needs without a server.

    Args:
        weights: Folder of the weights.
        device: Where TorchScript runs; OpenVINO runs on the CPU.
        engine: What runs them.
        threads: CPU threads of one inference of OpenVINO, all cores when 0; those of TorchScript
            are PyTorch's own.

    Raises:
        WeightsError: A weight file is missing or not the listed one.
    """
    device = torch.device(device)
    engine = chosen(engine, on_gpu=device.type != "cpu")
    load_one = _openvino if engine.is_openvino else _torchscript
    models = {name: load_one(name, weights, engine, device, threads) for name in NETWORKS}

    @torch.inference_mode()
    def infer(name: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        outputs = models[name](*tensors.values())
        return {f"output__{index}": output for index, output in enumerate(outputs)}

    return infer


def represented(name: str, weights: Path = WEIGHTS, engine: Engine = Engine.OPENVINO) -> Any:
    """Return a network as an `openvino.Model`, in 8-bit integers where asked for and at hand.

    Raises:
        WeightsError: A weight file is missing or not the listed one.
    """
    from orchestrator.networks import ir, quantized

    small = quantized.read(name, weights) if engine is Engine.OPENVINO_INT8 else None
    return small or ir.convert(name, load(name, weights))


Network = Callable[..., tuple[Tensor, ...]]


def _torchscript(
    name: str, weights: Path, engine: Engine, device: torch.device, threads: int
) -> Network:
    model = scripted(load(name, weights).to(device))

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        answer = model(*(tensor.to(device) for tensor in tensors))
        return answer if isinstance(answer, tuple) else (answer,)

    return run


def _openvino(
    name: str, weights: Path, engine: Engine, device: torch.device, threads: int
) -> Network:
    from orchestrator.networks import ir

    threads = threads or len(os.sched_getaffinity(0))
    compiled = ir.Compiled(represented(name, weights, engine), threads=threads)

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        answers = compiled(*(tensor.contiguous().numpy() for tensor in tensors))
        return tuple(torch.from_numpy(answer) for answer in answers)

    return run
