"""Load one chain after the other, sharpen held-out plates with each, and count what it brings."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from tritonclient.grpc import InferenceServerClient, InferInput
from tritonclient.utils import InferenceServerException

from examples.restoration.judging import judge
from examples.restoration.pictures import render_pair
from orchestrator import load_networks
from orchestrator.picture_files import Bgr
from orchestrator.server.local import own_server
from orchestrator.server.options import ServerOptions

REPOSITORY = Path(__file__).with_name("model_repository")
CHAINS = ("restoration_small", "restoration_large")
SEED, COUNT = 7, 300


def restore(client: InferenceServerClient, chain: str, blurred: Bgr) -> Bgr:
    """Send one picture through a chain."""
    tensor = InferInput("picture", list(blurred.shape), "UINT8")
    tensor.set_data_from_numpy(blurred)
    restored: Bgr = client.infer(chain, [tensor]).as_numpy("restored")
    return restored


def ready(client: InferenceServerClient) -> str:
    index = client.get_model_repository_index(as_json=True).get("models", [])
    names = [model["name"] for model in index if model.get("state") == "READY"]
    return ", ".join(sorted(names)) or "nothing"


def main() -> None:
    rng, infer = np.random.default_rng(SEED), load_networks()
    pairs = [render_pair(rng) for _ in range(COUNT)]
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(shutil.copytree(REPOSITORY, Path(folder, "models")))
        options = ServerOptions(repository=repository, explicit=True)
        with own_server(options) as served, InferenceServerClient(served.grpc_url) as client:
            print(f"ready at the start: {ready(client)}")
            print(f"{'blurred':18}", judge(pairs, lambda blurred: blurred, infer))
            for chain in CHAINS:
                client.load_model(chain)
                print(f"loaded {chain}; ready: {ready(client)}")
                print(f"{chain:18}", judge(pairs, lambda one: restore(client, chain, one), infer))
                client.unload_model(chain, unload_dependents=True)
                print(f"unloaded {chain}; ready: {ready(client)}")
            shutil.rmtree(repository / "finish")
            try:
                client.load_model(CHAINS[0])
            except InferenceServerException as error:
                print("without finish:", error.message())


if __name__ == "__main__":
    main()
