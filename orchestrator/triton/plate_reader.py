"""The last step of the ensemble `plate_reader`: turns logits into a text and its scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import triton_python_backend_utils as pb_utils

from orchestrator import contract
from orchestrator.host.heartbeat import Heartbeat
from orchestrator.plates import Plate, Plates
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar
from orchestrator.reading.readings import with_text
from orchestrator.settings import READER_PARAMETERS, Settings
from orchestrator.triton.country import formats_beside
from orchestrator.triton.failures import answer_each

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
        logits = pb_utils.get_input_tensor_by_name(request, contract.LOGITS).as_numpy()
        readings = decode(logits, self.grammar, temperature=settings.temperature)
        threshold = settings.text_threshold
        return Plates(
            tuple(with_text(NOWHERE, reading, threshold, self.formats) for reading in readings)
        )
