"""The Triton model `plate_recognition`: translates requests to the pipeline and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import triton_python_backend_utils as pb_utils

from orchestrator import contract
from orchestrator.arrays import Array
from orchestrator.errors import PictureError
from orchestrator.host.canary import read_canary
from orchestrator.host.heartbeat import Heartbeat
from orchestrator.imaging.files import from_base64
from orchestrator.imaging.headers import check_file
from orchestrator.pipeline import read_crop, recognize
from orchestrator.plates import Plates
from orchestrator.settings import READER_PARAMETERS, REQUEST_PARAMETERS, Settings
from orchestrator.triton.country import folder_of, formats_beside
from orchestrator.triton.devices import choose_device
from orchestrator.triton.failures import fail
from orchestrator.triton.in_process import choose_infer
from orchestrator.triton.memory_faults import end_process, free_memory, has_broken_context
from orchestrator.triton.metrics import Metrics, choose_families
from orchestrator.triton.request_log import explain
from orchestrator.triton.stages import UNPACKING, Stopwatch
from orchestrator.triton.warm_up import warm_up

MIN_BYTES_PER_S = 10e6
"""Bytes of a picture file that are decoded in a second, at least; 25 million were measured."""


class TritonPythonModel:
    """One worker: it handles one call at a time; a failure does not affect another call."""

    def initialize(self, args: Mapping[str, str]) -> None:
        config = json.loads(args["model_config"])
        self.settings = Settings.from_config(config["parameters"])
        self.formats = formats_beside(args)
        cv2.setNumThreads(1)  # the networks use the cores
        self.device = choose_device(args)
        with self.device.inference():
            canary = read_canary(folder_of(args))  # a grey picture if there is none
            warm_up(self.settings, self.formats, canary.file, self.device.decode)
        self.infer_for = choose_infer(args)
        self.metrics = Metrics(choose_families(pb_utils.MetricFamily))
        self.heartbeat = Heartbeat.of_model(config)

    def execute(self, requests: list[Any]) -> list[Any]:
        answers = []
        for request in requests:
            with self.device.inference(), self.heartbeat.work([request.request_id()]):
                answers.append(self._answer(request))
        return answers

    def _answer(self, request: Any) -> Any:
        names = request.requested_output_names()
        is_counted = request.request_id() != contract.PROBE
        watch = Stopwatch(self.infer_for(request, heartbeat=self.heartbeat))
        try:
            of_plates = [name for name in names if name in contract.EVERY_OUTPUT]
            plates = self._recognize(request, of_plates, watch)
            arrays = contract.to_arrays(plates, of_plates)
        except Exception as reason:  # only this request fails; the worker continues
            if has_broken_context(reason):
                end_process(reason)
            free_memory(reason)
            error = explain(reason)
            watch.finish()
            if is_counted:
                self.metrics.note_failure(error, watch)
            return fail(request, error)
        if contract.STAGE_SECONDS in names:
            arrays[contract.STAGE_SECONDS] = watch.finish()
        answer = pb_utils.InferenceResponse(
            [pb_utils.Tensor(name, array) for name, array in arrays.items()]
        )
        watch.finish()
        if is_counted:
            self.metrics.note_answer(plates, watch)
        return answer

    def _recognize(self, request: Any, outputs: Sequence[str], watch: Stopwatch) -> Plates:
        inputs = {tensor.name(): tensor for tensor in request.inputs()}
        is_crop = contract.ENCODED_CROP in inputs
        parameters = READER_PARAMETERS if is_crop else REQUEST_PARAMETERS
        settings = self.settings.updated(json.loads(request.parameters() or "{}"), parameters)
        picture = self._picture_of(request, inputs, settings)
        watch.lap(UNPACKING)
        height, width = picture.shape[:2]
        self.heartbeat.take([request.request_id()], f"{width}x{height}")
        if is_crop:
            return read_crop(picture, watch, settings, formats=self.formats)
        return recognize(picture, watch, settings, formats=self.formats, outputs=outputs)

    def _picture_of(self, request: Any, inputs: Mapping[str, Any], settings: Settings) -> Array:
        """Return the request's picture, from any of the inputs that can carry it."""
        if len(inputs) != 1:
            raise PictureError(
                f"inputs: wanted exactly one of {contract.PICTURE} and {contract.ENCODED}, "
                f"got {' and '.join(inputs) or 'none'}"
            )
        if contract.PICTURE in inputs:
            return self.device.read(inputs[contract.PICTURE])
        (content,) = next(iter(inputs.values())).as_numpy().ravel()
        file = from_base64(content)
        header = check_file(file, settings.max_pixels)
        more_s = len(file) / MIN_BYTES_PER_S + header.unpacking_s
        self.heartbeat.take([request.request_id()], f"a file of {len(file)} bytes", more_s)
        return self.device.decode(file, header)
