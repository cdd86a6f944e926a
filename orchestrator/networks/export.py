"""From trained networks to TorchScript files, and the same networks as an in-process `Infer`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

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


def export(name: str, path: Path, weights: Path = WEIGHTS) -> None:
    """Write a network as the `model.pt` that Triton serves; a reader never sees half a file."""
    model = scripted(load(name, weights))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(model, str(part))
    part.replace(path)


def load_networks(weights: Path = WEIGHTS, device: str | torch.device = "cpu") -> Infer:
    """Load the three networks into this process: what `recognize` needs without a server.

    Raises:
        WeightsError: A weight file is missing or not the listed one.
    """
    models = {name: scripted(load(name, weights).to(device)) for name in NETWORKS}

    @torch.inference_mode()
    def infer(name: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        answer = models[name](*(tensor.to(device) for tensor in tensors.values()))
        outputs = answer if isinstance(answer, tuple) else (answer,)
        return {f"output__{index}": output for index, output in enumerate(outputs)}

    return infer
