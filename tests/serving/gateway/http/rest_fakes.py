"""A fake model that answers from a table, and its answers."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from orchestrator.contract import (
    EVERY_OUTPUT,
    MODEL,
    OF_A_READING,
    OUTPUTS,
    PLATE_READER,
    STAGE_SECONDS,
    to_arrays,
)
from orchestrator.formats.transliteration import to_cyrillic
from orchestrator.plates import Plate, PlateRegion, Plates
from orchestrator.serving.gateway.http.rest import RestRequest, read, recognize
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.validation import check
from orchestrator.serving.protocol.bytes_tensors import encode
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, Tensor

# every number is one that float32 holds exactly
PLATE = Plate(
    xyxy=(10.0, 20.0, 110.5, 45.0),
    detection_score=0.75,
    text="A123BC77",
    text_score=0.875,
    raw_text="A123BC77",
    character_scores=(1.0, 0.5, 0.25, 0.125, 1.0, 0.5, 0.25, 0.125),
    candidates=(("A123BC77", 0.875), ("A128BC77", 0.0625)),
    corners=((10.0, 20.0), (110.0, 21.0), (110.5, 45.0), (11.0, 44.0)),
    format="ru_car",
    region=PlateRegion("77", "Moscow"),
)
UNREAD = Plate(xyxy=(1.0, 2.0, 3.0, 4.0), corners=((1.0, 2.0), (3.0, 2.0), (3.0, 4.0), (1.0, 4.0)))
PLATE_AS_JSON = {
    "text": "A123BC77",
    "text_native": to_cyrillic("A123BC77"),
    "text_score": 0.875,
    "raw_text": "A123BC77",
    "character_scores": [1.0, 0.5, 0.25, 0.125, 1.0, 0.5, 0.25, 0.125],
    "candidates": [{"text": "A123BC77", "score": 0.875}, {"text": "A128BC77", "score": 0.0625}],
    "format": "ru_car",
    "region": {"code": "77", "name": "Moscow"},
    "xyxy": [10.0, 20.0, 110.5, 45.0],
    "detection_score": 0.75,
    "corners": [[10.0, 20.0], [110.0, 21.0], [110.5, 45.0], [11.0, 44.0]],
}
SIZE_AS_JSON = {"width": 20, "height": 10}
"""The size of a `picture_file`."""
SECONDS_AS_JSON = {
    "picture": 0.5,
    "letterbox": 0.25,
    "yolo": 1.0,
    "crops": 0.125,
    "stn": 0.0625,
    "lprnet": 0.25,
    "texts": 0.0,
}


def picture_file(suffix: str = ".jpg", value: int = 128) -> bytes:
    """Return a grey picture, 20 pixels wide and 10 high."""
    return cv2.imencode(suffix, np.full((10, 20, 3), value, np.uint8))[1].tobytes()


def to_tensor(name: str, array: np.ndarray) -> Tensor:
    """Return an array of bytes or of float32 as a tensor."""
    if array.dtype == np.object_:
        return Tensor(name, "BYTES", array.shape, encode(array.flat))
    return Tensor(name, "FP32", array.shape, array.astype("<f4").tobytes())


def answer_with(call: InferenceRequest, plates: Sequence[Plate]) -> InferenceResponse:
    names = OF_A_READING if call.model == PLATE_READER else call.outputs or tuple(OUTPUTS)
    names = [name for name in names if name in EVERY_OUTPUT]
    arrays = to_arrays(Plates(tuple(plates)), names)
    if call.model == MODEL:
        arrays[STAGE_SECONDS] = np.array([*SECONDS_AS_JSON.values()], np.float32)
    outputs = tuple(to_tensor(name, array) for name, array in arrays.items())
    return InferenceResponse(call.model, "1", call.id, outputs, call)


@dataclass
class FakeInfer:
    """Checks each request and answers it with the next entry, or raises the entry.

    The last entry is used again. `outputs` are those of the model about plates.
    """

    entries: Sequence[Sequence[Plate] | Exception] = ((PLATE,),)
    calls: list[InferenceRequest] = field(default_factory=list)
    outputs: Sequence[str] = tuple(OUTPUTS)

    async def __call__(self, call: InferenceRequest) -> InferenceResponse:
        entry = self.entries[min(len(self.calls), len(self.entries) - 1)]
        self.calls.append(check(call, Limits(), self.outputs))
        if isinstance(entry, Exception):
            raise entry
        return answer_with(self.calls[-1], entry)


OF_A_PLATE = ("xyxy", "detection_score", "corners")
READING_AS_JSON = {name: value for name, value in PLATE_AS_JSON.items() if name not in OF_A_PLATE}
LIMITS = Limits(pictures=3)


def recognize_with(request: RestRequest, infer: FakeInfer) -> dict:
    return json.loads(asyncio.run(recognize(request, infer, LIMITS, infer.outputs)).to_json())


def read_with(request: RestRequest, infer: FakeInfer) -> dict:
    return json.loads(asyncio.run(read(request, infer, LIMITS, infer.outputs)).to_json())
