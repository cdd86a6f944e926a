"""A clip in, one response for each frame that shows plates, as soon as it is read."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import triton_python_backend_utils as pb_utils

from orchestrator.contract import MODEL, OUTPUTS, PICTURE
from orchestrator.errors import ParameterError
from orchestrator.settings import check_parameters
from orchestrator.triton.bls import Callee, infer_async_for
from orchestrator.triton.failures import fail

from .frames import Frame, frames


class TritonPythonModel:
    """The event loop for all clips: Triton does not wait for a decoupled `async def execute`."""

    def initialize(self, args: Mapping[str, str]) -> None:
        parameters = json.loads(args["model_config"])["parameters"]
        self.every_s = float(parameters["every_s"]["string_value"])
        self.frames_in_work = int(parameters["frames_in_work"]["string_value"])
        self.places = asyncio.Semaphore(self.frames_in_work)

    async def execute(self, requests: list[Any]) -> None:
        await asyncio.gather(*map(self._answer, requests))

    async def _answer(self, request: Any) -> None:
        sender = request.get_response_sender()
        try:
            await self._watch(request, sender)
        except Exception as reason:  # without a response, the client would wait forever
            sender.send(fail(request, reason))
        finally:
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def _parameters_of(self, request: Any) -> tuple[float, dict[str, Any]]:
        parameters = json.loads(request.parameters() or "{}")
        every_s = parameters.pop("every_s", self.every_s)
        if not (isinstance(every_s, float | int) and 0 <= every_s <= 3600):
            raise ParameterError(f"every_s: wanted a number from 0 to 3600, got {every_s!r}")
        check_parameters(parameters)  # early: a later rejection looks like our fault
        return every_s, parameters

    async def _watch(self, request: Any, sender: Any) -> None:
        """Let several tasks share the frames; when one fails, the others finish theirs."""
        every_s, parameters = self._parameters_of(request)
        outputs = tuple(name for name in request.requested_output_names() if name in OUTPUTS)
        infer = infer_async_for(request, {MODEL: Callee(outputs or ("coordinates",))})
        clip = frames(request.inputs()[0].as_numpy().item(), every_s)
        turn = asyncio.Lock()

        async def answer_next() -> bool:
            async with self.places:
                async with turn:
                    frame = await asyncio.to_thread(next, clip, None)
                if frame:
                    picture = {PICTURE: torch.from_numpy(frame.bgr)}
                    plates = await infer(MODEL, picture, parameters)
                    if any(tensor.shape()[0] for tensor in plates.values()):
                        sender.send(_response(frame, plates))
                return frame is not None

        async def take() -> None:
            try:
                while await answer_next():
                    pass
            finally:
                async with turn:
                    clip.close()

        takers = [take() for _ in range(self.frames_in_work)]
        for error in filter(None, await asyncio.gather(*takers, return_exceptions=True)):
            raise error


def _response(frame: Frame, plates: Mapping[str, Any]) -> Any:
    time_s, number = np.array([frame.time_s], np.float32), np.array([frame.number])
    own = [pb_utils.Tensor("time_s", time_s), pb_utils.Tensor("frame", number)]
    return pb_utils.InferenceResponse([*own, *plates.values()])
