"""What a client of the ensemble does: bytes there, probabilities or named classes back."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import InferenceServerClient, InferInput, InferRequestedOutput


def input_of(files: Sequence[bytes]) -> InferInput:
    """Lay up to 32 files of any length out as rows, uint8 [B, N], filled up with zeros.

    Decoders stop at a picture's own end, so that the zeros do no harm.
    """
    rows = np.zeros((len(files), max(map(len, files))), np.uint8)
    for row, file in zip(rows, files, strict=True):
        row[: len(file)] = np.frombuffer(file, np.uint8)
    tensor = InferInput("INPUT", list(rows.shape), "UINT8")
    tensor.set_data_from_numpy(rows)
    return tensor


def classify(client: InferenceServerClient, files: Sequence[bytes]) -> NDArray[np.float32]:
    """Return the probabilities of the ten digits, [B, 10]."""
    answer = client.infer("digits", [input_of(files)])
    return np.asarray(answer.as_numpy("OUTPUT"))


def best_named(client: InferenceServerClient, file: bytes, count: int = 3) -> list[str]:
    """Let Triton sort: the `count` best as `probability:class:label`."""
    wanted = InferRequestedOutput("OUTPUT", class_count=count)
    answer = client.infer("digits", [input_of([file])], outputs=[wanted])
    return [one.decode() for one in answer.as_numpy("OUTPUT")[0]]
