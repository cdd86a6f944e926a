"""Start a server with the three models, send it files and say what came back."""

from pathlib import Path

import numpy as np
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from evaluation.proportions import wilson_interval
from examples.digits.client import best_named, classify
from examples.digits.samples import Samples, load_samples, to_file
from orchestrator.server.local import own_server
from orchestrator.server.options import ServerOptions

REPOSITORY = Path(__file__).with_name("model_repository")
KINDS = (28, ".png"), (200, ".jpg"), (64, ".bmp")


def main() -> None:
    digits, options = load_samples()[1], ServerOptions(repository=REPOSITORY)
    with own_server(options) as served, InferenceServerClient(served.grpc_url) as client:
        files = [to_file(image, *kind) for image, kind in zip(digits.images, KINDS, strict=False)]
        for file, row, digit in zip(files, classify(client, files), digits.classes, strict=False):
            print(f"{len(file)} bytes show a {digit}: {row.argmax()} with {row.max():.3f}")
        print("the first, sorted and named by Triton:", *best_named(client, files[0]))
        try:
            classify(client, [files[0], b"no picture"])
        except InferenceServerException as error:
            print("beside a broken file:", error.message())
        right, count = count_right(client, digits), len(digits.classes)
    low, high = wilson_interval(right, count) or (0.0, 1.0)
    print(f"right: {right} of {count} held-out digits, {right / count:.1%}", end=" ")
    print(f"(95 % interval {low:.1%} to {high:.1%})")


def count_right(client: InferenceServerClient, digits: Samples, batch: int = 32) -> int:
    """Classify every digit, in requests of 32, and count those that are right."""
    files = [to_file(image) for image in digits.images]
    rows = [classify(client, files[at : at + batch]) for at in range(0, len(files), batch)]
    return int((np.concatenate(rows).argmax(axis=1) == digits.classes).sum())


if __name__ == "__main__":
    main()
