"""A picture in, the text of each plate out: yolo finds, stn straightens, lprnet reads."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import triton_python_backend_utils as pb_utils
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from orchestrator.contract import MAX_BATCH
from orchestrator.detection.letterbox import letterbox
from orchestrator.detection.postprocessing import keep_best
from orchestrator.errors import ModelError
from orchestrator.formats.plate_formats import russian
from orchestrator.reading.crops import crop_plates
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar
from orchestrator.settings import Settings
from orchestrator.triton.failures import answer_each


class TritonPythonModel:
    def initialize(self, args: Mapping[str, str]) -> None:
        torch.set_num_threads(1)  # the networks use the cores
        self.settings = Settings(max_plates=MAX_BATCH)  # stn and lprnet take no larger batch
        self.grammar = Grammar.of(russian())

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        return answer_each(requests, self.read)  # an error fails its own request, and is logged

    def read(self, request: Any) -> list[Any]:
        """Return the outputs of one request."""
        picture = from_dlpack(pb_utils.get_input_tensor_by_name(request, "picture"))
        box = letterbox(picture, self.settings.detector_side_px)
        (rows,) = call(request, "yolo", box.net, "output__0")
        detections = keep_best(rows, box, (picture.shape[1], picture.shape[0]), self.settings)
        boxes = pb_utils.Tensor("boxes", detections.xyxy)
        if not len(detections.scores):  # the early exit: a batch needs at least one row
            return [boxes, pb_utils.Tensor("texts", np.empty(0, object))]
        crops = crop_plates(picture, detections.xyxy)
        straight, _theta = call(request, "stn", crops, "output__0", "output__1")
        (logits,) = call(request, "lprnet", straight, "output__0")
        best = [reading.candidates[:1] for reading in decode(logits.cpu().numpy(), self.grammar)]
        texts = np.array(
            [text.encode() for candidates in best for text, _ in candidates or [("", 0)]], object
        )
        return [boxes, pb_utils.Tensor("texts", texts)]


def call(request: Any, model: str, input_tensor: Tensor, *outputs: str) -> list[Tensor]:
    """Call a model for a request, and wait for its outputs."""
    child = pb_utils.InferenceRequest(
        model_name=model,
        inputs=[tensor("input__0", input_tensor)],
        requested_output_names=[*outputs],
        request_id=request.request_id(),
        timeout=request.timeout(),
        trace=request.trace(),
    )
    answer = child.exec()
    if answer.has_error():
        raise ModelError(f"{model}: {answer.error().message()}")
    return [from_dlpack(pb_utils.get_output_tensor_by_name(answer, name)) for name in outputs]


def tensor(name: str, array: Tensor) -> Any:
    """Hand a tensor's memory to Triton without a copy; strides would be lost."""
    return pb_utils.Tensor.from_dlpack(name, array.contiguous())
