"""Start a server with the three models, send it files and print the answers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import InferenceServerClient, InferInput, InferRequestedOutput
from tritonclient.utils import InferenceServerException

from examples.digits.samples import HELD_OUT, load_samples
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.evaluation.proportions import wilson_interval

REPOSITORY = Path(__file__).with_name("model_repository")


def input_of(files: Sequence[bytes]) -> InferInput:
    """Put up to 32 files of any length into rows, uint8 [B, N], padded with zeros.

    Decoders stop at a picture's own end, so the zeros do no harm.
    """
    rows = np.zeros((len(files), max(map(len, files))), np.uint8)
    for row, file in zip(rows, files, strict=True):
        row[: len(file)] = np.frombuffer(file, np.uint8)
    tensor = InferInput("INPUT", list(rows.shape), "UINT8")
    tensor.set_data_from_numpy(rows)
    return tensor


def classify(client: InferenceServerClient, files: Sequence[bytes]) -> NDArray[np.float32]:
    """Return the probabilities of the ten digits, [B, 10]."""
    return np.asarray(client.infer("digits", [input_of(files)]).as_numpy("OUTPUT"))


def best_named(client: InferenceServerClient, file: bytes, count: int = 3) -> list[str]:
    """Let Triton sort the classes; return the `count` best as `probability:class:label`."""
    output = InferRequestedOutput("OUTPUT", class_count=count)
    answer = client.infer("digits", [input_of([file])], outputs=[output])
    return [text.decode() for text in answer.as_numpy("OUTPUT")[0]]


def count_right(client: InferenceServerClient, batch: int = 32) -> tuple[int, int]:
    """Classify the test digits, in requests of 32; return how many are right, and of how many."""
    files, classes = load_samples(HELD_OUT)
    rows = [classify(client, files[at : at + batch]) for at in range(0, len(files), batch)]
    return int((np.concatenate(rows).argmax(axis=1) == classes).sum()), len(classes)


def main() -> None:
    files, classes = load_samples(HELD_OUT)
    with (
        own_server(ServerOptions(repository=REPOSITORY)) as server,
        InferenceServerClient(server.grpc_url) as client,
    ):
        for file, row, digit in zip(files[:3], classify(client, files[:3]), classes, strict=False):
            print(f"{len(file)} bytes show a {digit}: {row.argmax()} with {row.max():.3f}")
        print("the first, sorted and named by Triton:", *best_named(client, files[0]))
        try:
            classify(client, [files[0], b"no picture"])
        except InferenceServerException as error:
            print("beside a broken file:", error.message())
        right, count = count_right(client)
    low, high = wilson_interval(right, count) or (0.0, 1.0)
    print(f"right: {right} of {count} held out, {right / count:.1%} ({low:.1%} to {high:.1%})")


if __name__ == "__main__":
    main()
