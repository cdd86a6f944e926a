"""The streaming model with a fake Triton: order, limits and errors."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from tests.triton import fake_triton as triton

VERSION = "examples.stream.model_repository.plates_stream.1"
SETTINGS = {"every_s": {"string_value": "0"}, "frames_in_work": {"string_value": "3"}}
RECOGNITION = "plate_recognition"


class Clip:
    """A fake clip with grey frames; the brightness of each is its number."""

    def __init__(self, count: int, error: Exception | None = None) -> None:
        self.count, self.error, self.begun_frames = count, error, 0

    def frames(self, file: bytes, every_s: float) -> Iterator[SimpleNamespace]:
        for number in range(self.count):
            self.begun_frames += 1
            bgr = np.full((2, 2, 3), number, np.uint8)
            yield SimpleNamespace(number=number, time_s=number / 10, bgr=bgr)
        if self.error:
            raise self.error


@pytest.fixture
def answer_clip(monkeypatch) -> Callable[..., triton.ResponseSender]:
    """Let the model answer clips; return the responses to the first one."""
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", triton)
    triton.forget()
    module = import_module(f"{VERSION}.model")

    def answer(clip: Clip, **request: object) -> triton.ResponseSender:
        monkeypatch.setattr(module, "frames", clip.frames)
        request_of_clip = triton.InferenceRequest(
            inputs=[triton.Tensor("clip", np.array([b"clip"], np.object_))],
            **{"requested_output_names": ["time_s", "frame", "texts"]} | request,
        )
        model = module.TritonPythonModel()
        model.initialize({"model_config": json.dumps({"parameters": SETTINGS})})
        asyncio.run(model.execute([request_of_clip]))
        assert request_of_clip.sender.is_ended
        return request_of_clip.sender

    return answer


def plates(*texts: bytes) -> triton.InferenceResponse:
    rows = np.array(texts, np.object_).reshape(-1, 1)
    return triton.InferenceResponse([triton.Tensor("texts", rows)])


def brightness(request: triton.InferenceRequest) -> int:
    return int(request.inputs()[0].as_numpy()[0, 0, 0])


def outputs(response: triton.InferenceResponse) -> dict[str, list]:
    return {
        tensor.name(): tensor.as_numpy().ravel().tolist() for tensor in response.output_tensors()
    }


def test_three_frames_are_in_work_at_once_and_no_others_are_decoded(
    answer_clip, monkeypatch
) -> None:
    clip, ahead, three = Clip(20), [], asyncio.Event()
    triton.MODELS[RECOGNITION] = lambda _: plates()

    async def async_exec(request: triton.InferenceRequest) -> triton.InferenceResponse:
        three.set() if brightness(request) == 2 else await asyncio.wait_for(three.wait(), 10)
        ahead.append(clip.begun_frames - len(ahead))
        return request.exec()

    monkeypatch.setattr(triton.InferenceRequest, "async_exec", async_exec)
    assert answer_clip(clip).sent == []
    assert (len(ahead), max(ahead)) == (20, 3)


def test_only_what_was_asked_for_is_computed(answer_clip) -> None:
    triton.MODELS[RECOGNITION] = lambda _: plates(b"A123BC77")
    answer_clip(Clip(1), requested_output_names=["texts", "frame"])
    answer_clip(Clip(1), requested_output_names=["time_s"])
    output_names = [request.requested_output_names() for request in triton.CALLS]
    assert output_names == [["texts"], ["coordinates"]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"every_s": "soon"}, "every_s: wanted a number from 0 to 3600, got 'soon'"),
        ({"every_s": -1}, "every_s: wanted a number from 0 to 3600, got -1"),
        ({"text_threshold": 7}, "text_threshold: wanted 0 to 1, got 7.0"),
        ({"fps": 5}, "parameters: wanted some of detection_threshold"),
    ],
)
def test_a_wrong_parameter_is_refused_before_the_first_frame(
    answer_clip, parameters: dict[str, object], message: str
) -> None:
    (response,) = answer_clip(Clip(1), parameters=parameters).sent
    assert response.error().code() == triton.TritonError.INVALID_ARG
    assert response.error().message().startswith(message)
    assert triton.CALLS == []


def test_a_full_queue_is_an_error_and_ends_the_stream(answer_clip) -> None:
    full = triton.InferenceResponse(error=triton.TritonError("Exceeds maximum queue size"))
    responses_by_number = {4: full}
    triton.MODELS[RECOGNITION] = lambda request_or_response: responses_by_number.get(
        brightness(request_or_response), plates(b"A123BC77")
    )
    clip = Clip(100)
    *before, last = answer_clip(clip).sent
    assert last.error().code() == triton.TritonError.UNAVAILABLE
    assert {0, 1, 2, 3} <= {
        outputs(request_or_response)["frame"][0] for request_or_response in before
    }
    assert clip.begun_frames < 10


def test_a_fault_of_ours_is_told_too(answer_clip) -> None:
    (response,) = answer_clip(Clip(0, RuntimeError("no memory"))).sent
    assert response.error().code() == triton.TritonError.INTERNAL
    assert response.error().message() == "RuntimeError: no memory"


def test_frames_of_a_cancelled_request_are_not_worked_on(answer_clip) -> None:
    clip = Clip(100)
    (response,) = answer_clip(clip, is_cancelled=True).sent
    assert response.error().code() == triton.TritonError.CANCELLED
    assert triton.CALLS == []
    assert clip.begun_frames <= 3
