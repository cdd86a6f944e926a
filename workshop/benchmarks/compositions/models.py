"""The Python models of the compositions: the ensemble's steps, and the chain in one process.

They use the functions of `orchestrator` that the BLS model uses, so only the composition differs.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
import triton_python_backend_utils as pb_utils

from orchestrator import contract
from orchestrator.contract import Array
from orchestrator.detection.letterbox import Letterbox, letterbox
from orchestrator.detection.postprocessing import keep_best
from orchestrator.errors import PlateError
from orchestrator.formats.plate_formats import russian
from orchestrator.imaging.decoding import decode
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import recognize
from orchestrator.plates import Plate, Plates
from orchestrator.reading import ctc
from orchestrator.reading.crops import crop_plates
from orchestrator.reading.grammar import Grammar
from orchestrator.reading.readings import with_text
from orchestrator.settings import Settings
from orchestrator.triton.failures import failed
from workshop.benchmarks.compositions import OUTPUTS


class Model(ABC):
    """One worker of a Python model: arrays in, arrays out. A failure affects its request alone."""

    def initialize(self, args: Mapping[str, str]) -> None:
        parameters = json.loads(args["model_config"])["parameters"]
        self.settings = Settings.from_config(parameters)
        torch.set_num_threads(1)  # as in the BLS model: networks use the cores
        cv2.setNumThreads(1)
        torch.set_flush_denormal(True)

    @torch.inference_mode()
    def execute(self, requests: list[Any]) -> list[Any]:
        return [self._response(request) for request in requests]

    @abstractmethod
    def answer(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """Compute the outputs of one request."""

    def _response(self, request: Any) -> Any:
        try:
            answer = self.answer({one.name(): one.as_numpy() for one in request.inputs()})
        except PlateError as error:
            return failed(error)
        return pb_utils.InferenceResponse([pb_utils.Tensor(*pair) for pair in answer.items()])


class Prepare(Model):
    """The first step: decodes and letterboxes a picture, and passes on the input of the crops."""

    def answer(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        picture = decode(inputs["encoded_image"].item(), max_pixels=self.settings.max_pixels)
        box = letterbox(picture, self.settings.detector_side_px)
        return {
            "picture": picture.numpy(),
            "net": box.net.numpy(),
            "scale": np.array([box.scale]),
            "offset_xy": np.array(box.offset_xy, np.int32),
        }


class Crop(Model):
    """The step that selects plates among the detector's rows and crops them from the picture.

    A batching model refuses zero rows, and an ensemble cannot skip a step. So a picture without
    plates gets one blank crop. An ensemble cannot split a batch, so one batch limits the crops.
    """

    def answer(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        picture = torch.from_numpy(inputs["picture"])
        x, y = inputs["offset_xy"].tolist()
        box = Letterbox(picture, inputs["scale"].item(), (x, y))
        most = min(self.settings.max_plates, contract.MAX_BATCH)
        found = keep_best(
            torch.from_numpy(inputs["rows"]),
            box,
            (picture.shape[1], picture.shape[0]),
            replace(self.settings, max_plates=most),
        )
        crops = crop_plates(picture, found.xyxy) if len(found.scores) else torch.zeros(1, 3, 24, 94)
        return {
            "crops": crops.numpy(),
            "coordinates": found.xyxy.numpy(),
            "detection_scores": np.array(found.scores, np.float32).reshape(-1, 1),
        }


class Decode(Model):
    """The last step: decodes the logits. The blank crop has no box and is dropped."""

    def answer(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        boxes, scores = inputs["coordinates"].tolist(), inputs["detection_scores"].tolist()
        logits = inputs["logits"][: len(boxes)]
        readings = (
            ctc.decode(logits, Grammar.of(russian()), temperature=self.settings.temperature)
            if boxes
            else []
        )
        plates = [
            with_text(
                Plate(xyxy=tuple(xyxy), detection_score=score),
                reading,
                self.settings.text_threshold,
                russian(),
            )
            for xyxy, (score,), reading in zip(boxes, scores, readings, strict=True)
        ]
        return contract.to_arrays(Plates(tuple(plates)), OUTPUTS)


class Monolith(Model):
    """The whole pipeline in one model, with its own networks."""

    def initialize(self, args: Mapping[str, str]) -> None:
        super().initialize(args)
        parameters = json.loads(args["model_config"])["parameters"]
        engine = Engine(parameters["ENGINE"]["string_value"])
        weights = Path(parameters["WEIGHTS"]["string_value"])
        threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
        if not engine.is_openvino:  # the networks run with PyTorch's threads
            torch.set_num_threads(threads)
        self.infer = load_networks(weights, engine=engine, threads=threads)

    def answer(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        picture = decode(inputs["encoded_image"].item(), max_pixels=self.settings.max_pixels)
        plates = recognize(picture, self.infer, self.settings, outputs=OUTPUTS)
        return contract.to_arrays(plates, OUTPUTS)
