"""Load one chain after the other, sharpen test plates with each, and count the improvement."""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tritonclient.grpc import InferenceServerClient, InferenceServerClientPlugin, InferInput
from tritonclient.utils import InferenceServerException

from examples.restoration.pictures import Pair, render_pair
from examples.restoration.quality import measure_quality
from orchestrator import load_networks
from orchestrator.imaging.files import Bgr
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions

REPOSITORY = Path(__file__).with_name("model_repository")
CHAINS = ("restoration_small", "restoration_large")
SEED, COUNT = 10, 300


def restore(client: InferenceServerClient, chain: str, picture: Bgr) -> Bgr:
    """Send one picture through a chain."""
    tensor = InferInput("picture", list(picture.shape), "UINT8")
    tensor.set_data_from_numpy(picture)
    restored: Bgr = client.infer(chain, [tensor]).as_numpy("restored")
    return restored


@dataclass(frozen=True)
class Administrator(InferenceServerClientPlugin):  # type: ignore[misc]  # tritonclient is untyped
    """Adds the admin key to requests; without it Triton loads no model and hides its repository."""

    headers: Mapping[str, str]

    def __call__(self, request: Any) -> None:
        request.headers.update(self.headers)


def list_ready(client: InferenceServerClient) -> list[str]:
    index = client.get_model_repository_index().models
    return sorted(model.name for model in index if model.state == "READY")


def render_held_out() -> list[Pair]:
    rng = np.random.default_rng(SEED)
    return [render_pair(rng) for _ in range(COUNT)]


def main() -> None:
    pairs, infer = render_held_out(), load_networks()
    print("blurred:", measure_quality(pairs, [pair.blurred for pair in pairs], infer), "of", COUNT)
    with tempfile.TemporaryDirectory() as folder:  # a copy, because a part of it will be removed
        repository = Path(shutil.copytree(REPOSITORY, Path(folder, "models")))
        options = ServerOptions(repository=repository, explicit=True)
        with own_server(options) as server, InferenceServerClient(server.grpc_url) as client:
            client.register_plugin(Administrator(server.admin_headers))
            for chain in CHAINS:
                client.load_model(chain)
                print("ready:", *list_ready(client))
                restored = [restore(client, chain, pair.blurred) for pair in pairs]
                print(f"{chain}:", measure_quality(pairs, restored, infer), "of", COUNT)
                client.unload_model(chain, unload_dependents=True)
            shutil.rmtree(repository / "finish")
            try:
                client.load_model(CHAINS[0])
            except InferenceServerException as error:
                print("without finish:", error.message().strip())


if __name__ == "__main__":
    main()
