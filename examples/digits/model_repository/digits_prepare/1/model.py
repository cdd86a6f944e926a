"""Triton's entry: files in, small grey pictures out; a broken file fails only its request."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from examples.digits.pictures import to_net
from orchestrator.contract import ENCODED
from orchestrator.errors import PictureError
from orchestrator.triton.failures import answer_each


class TritonPythonModel:
    def execute(self, requests: Sequence[Any]) -> list[Any]:
        return answer_each(requests, prepare)


def prepare(request: Any) -> list[Any]:
    """Prepare one request: files as rows, uint8 [B, N], padded with zeros to one length."""
    files, digits = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy(), []
    for row, file in enumerate(files):
        try:
            digits.append(to_net(file.tobytes()))
        except PictureError as error:
            what = str(error).removeprefix(f"{ENCODED}: ")
            raise PictureError(f"INPUT0, row {row} of {len(files)}: {what}") from error
    return [pb_utils.Tensor("OUTPUT0", np.stack(digits))]
