"""The last step of the ensemble `plate_reader`: turns logits into a text and its scores.

With `plates serve --one-model` it is the whole model: a crop comes, and the networks run here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import triton_python_backend_utils as pb_utils

from orchestrator import contract
from orchestrator.arrays import Array
from orchestrator.host.heartbeat import Heartbeat
from orchestrator.pipeline import with_text
from orchestrator.plates import Plate, Plates
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar
from orchestrator.settings import READER_PARAMETERS, Settings
from orchestrator.triton.country import formats_beside
from orchestrator.triton.crop_preparation import prepare_crop
from orchestrator.triton.failures import answer_each
from orchestrator.triton.in_process import choose_infer

NOWHERE = Plate(xyxy=(0, 0, 0, 0))
"""A plate without a position: only the sender knows where the crop comes from."""


class TritonPythonModel:
    """One worker: it handles one call at a time; a failure does not affect another call."""

    def initialize(self, args: Mapping[str, str]) -> None:
        config = json.loads(args["model_config"])
        self.settings = Settings.from_config(config.get("parameters", {}))
        self.formats = formats_beside(args)
        self.grammar = Grammar.of(self.formats)
        self.heartbeat = Heartbeat.of_model(config)
        self.infer_for = choose_infer(args)

    def execute(self, requests: list[Any]) -> list[Any]:
        return answer_each(requests, self._answer)

    def _answer(self, request: Any) -> list[Any]:
        with self.heartbeat.work([request.request_id()]):
            plates = self._read(request)
        arrays = contract.to_arrays(plates, request.requested_output_names())
        return [pb_utils.Tensor(name, array) for name, array in arrays.items()]

    def _read(self, request: Any) -> Plates:
        settings = self.settings.updated(
            json.loads(request.parameters() or "{}"), READER_PARAMETERS
        )
        logits = self._logits_of(request)
        readings = decode(logits, self.grammar, temperature=settings.temperature)
        threshold = settings.text_threshold
        return Plates(
            tuple(with_text(NOWHERE, reading, threshold, self.formats) for reading in readings)
        )

    def _logits_of(self, request: Any) -> Array:
        """Return the logits of the request, or those of the networks for its crop."""
        (tensor,) = request.inputs()
        if tensor.name() == contract.LOGITS:
            return tensor.as_numpy()
        (crops,) = prepare_crop(tensor.as_numpy())
        infer = self.infer_for(request, heartbeat=self.heartbeat)
        straight_crops = infer(contract.RECTIFIER, {contract.INPUT: crops})[contract.OUTPUT]
        return infer(contract.READER, {contract.INPUT: straight_crops})[contract.OUTPUT]
