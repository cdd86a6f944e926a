"""From trained networks to the files that an engine serves, and to an `Infer` in this process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from orchestrator.networks.engines import Engine, chosen
from orchestrator.networks.lprnet import LPRNet
from orchestrator.networks.stn import STN
from orchestrator.networks.weights import WEIGHTS, load_state
from orchestrator.networks.yolo import Yolo
from orchestrator.pipeline import Infer

NETWORKS: dict[str, type[nn.Module]] = {"yolo": Yolo, "stn": STN, "lprnet": LPRNet}


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
        WeightsError: The weight file is missing or not the listed one.
    """
    if engine.is_openvino:
        from orchestrator.networks import ir

        ir.save(represented(name, weights, engine), path)
        return
    model = scripted(load(name, weights))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(model, str(part))
    part.replace(path)


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
