"""The interface to Triton: calls of other models, and answers to our callers."""

import asyncio
import json
import re
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from orchestrator import errors

NET = {"input__0": torch.arange(6, dtype=torch.float32).reshape(1, 2, 3)}


@pytest.fixture
def bls(triton):
    return import_module("orchestrator.triton.bls")


@pytest.fixture
def call_model(triton):
    """Answer any model's call with its input; return the call."""

    def call(infer, model: str, outputs: tuple[str, ...] = ("output__0",), tensors=NET):
        def echo(request):
            rows = request.inputs()[0].as_numpy()
            return triton.InferenceResponse([triton.Tensor(name, rows) for name in outputs])

        triton.MODELS[model] = echo
        infer(model, tensors)
        return triton.CALLS[-1]

    return call


@pytest.fixture
def refuse(triton):
    """Let a model answer with an error."""

    def refuse(model: str, message: str, code: str) -> None:
        error = triton.TritonError(message, code)
        triton.MODELS[model] = lambda _: triton.InferenceResponse(error=error)

    return refuse


def test_tensors_share_their_memory_with_triton(bls, triton) -> None:
    shared_tensor = triton.Tensor("picture", np.zeros((2, 3), np.uint8))
    tensor = bls.to_torch(shared_tensor)
    tensor[1, 2] = 7
    assert shared_tensor.as_numpy()[1, 2] == 7
    bls.to_triton("back", tensor).as_numpy()[0, 0] = 5
    assert shared_tensor.as_numpy()[0, 0] == 5


def test_a_view_that_is_not_contiguous_is_copied_in_its_order(bls) -> None:
    tensor = torch.tensor([[1, 2], [3, 4]]).T
    assert bls.to_triton("view", tensor).as_numpy().tolist() == [[1, 3], [2, 4]]


def test_a_child_inherits_id_deadline_and_trace_and_is_asked_for_all_outputs(
    bls, triton, call_model
) -> None:
    trace = object()
    request = triton.InferenceRequest(request_id="gate-7", timeout=250_000, trace=trace)
    child = call_model(bls.infer_for(request), "stn", ("output__0", "output__1"))
    assert (child.request_id(), child.timeout()) == ("gate-7", 250_000)
    assert child.trace() is trace
    assert child.model_name() == "stn"
    assert child.requested_output_names() == ["output__0", "output__1"]
    assert [tensor.name() for tensor in child.inputs()] == ["input__0"]
    assert child.inputs()[0].as_numpy().tolist() == [[[0, 1, 2], [3, 4, 5]]]


@pytest.mark.parametrize(("model", "kind"), [("yolo", "cpu"), ("lprnet", "cpu"), ("stn", None)])
def test_boxes_and_logits_are_wanted_on_the_cpu_and_crops_where_they_are(
    bls, triton, call_model, model: str, kind: str | None
) -> None:
    memory = call_model(bls.infer_for(triton.InferenceRequest()), model).preferred_memory
    assert memory == (kind and triton.PreferredMemory(kind, 0))


@pytest.mark.parametrize("model", ["yolo", "lprnet", "stn"])
def test_a_worker_on_the_cpu_wants_every_answer_there(bls, triton, call_model, model: str) -> None:
    tensors = {name: tensor.numpy() for name, tensor in NET.items()}
    outputs = tuple(bls.NETWORKS[model].outputs)
    child = call_model(bls.infer_for(triton.InferenceRequest()), model, outputs, tensors)
    assert child.preferred_memory == triton.PreferredMemory("cpu", 0)
    assert child.requested_output_names() == [*bls.NETWORKS[model].outputs]


def test_devices_of_tensors_are_logged_on_request_alone(
    bls, triton, call_model, monkeypatch, capfd
) -> None:
    call_model(bls.infer_for(triton.InferenceRequest()), "stn")
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(bls.placement, "IS_TRACED", True)
    call_model(bls.infer_for(triton.InferenceRequest()), "stn")
    placements = [("stn", "caller", name, "cpu") for name in ("input__0", "output__0")]
    assert bls.placement.parse([capfd.readouterr().err]) == placements


def test_models_that_are_not_ours_can_be_called(bls, triton, call_model) -> None:
    models = {"ocr": SimpleNamespace(outputs=["words"], answers_on_cpu=True)}
    child = call_model(bls.infer_for(triton.InferenceRequest(), models), "ocr")
    assert child.requested_output_names() == ["words"]
    assert child.preferred_memory.kind == "cpu"


PLATES = {"coordinates": np.zeros((0, 4), np.float32)}


@pytest.fixture
def recognition(triton):
    """Answer `plate_recognition` with no plates."""
    answer = [triton.Tensor(*pair) for pair in PLATES.items()]
    triton.MODELS["plate_recognition"] = lambda _: triton.InferenceResponse(answer)


def infer_beside(bls, request):
    """Return what calls `plate_recognition` beside other calls."""
    return bls.infer_async_for(request, {"plate_recognition": bls.Callee(("coordinates",))})


@pytest.mark.usefixtures("recognition")
def test_a_child_that_is_not_waited_for_inherits_the_same(bls, triton) -> None:
    trace = object()
    request = triton.InferenceRequest(request_id="gate-7", timeout=250_000, trace=trace)
    answer = asyncio.run(infer_beside(bls, request)("plate_recognition", NET))
    (child,) = triton.CALLS
    assert (child.request_id(), child.timeout()) == ("gate-7", 250_000)
    assert child.trace() is trace
    assert child.requested_output_names() == ["coordinates"]
    assert child.preferred_memory.kind == "cpu"
    assert answer["coordinates"].as_numpy().shape == (0, 4)


@pytest.mark.usefixtures("recognition")
def test_parameters_reach_the_child_fractions_as_text(bls, triton) -> None:
    infer = infer_beside(bls, triton.InferenceRequest())
    parameters = {"text_threshold": 0.25, "max_plates": 3, "roi": "0,0,9,9"}
    asyncio.run(infer("plate_recognition", NET, parameters))
    (child,) = triton.CALLS
    texts = {"text_threshold": "0.25", "max_plates": 3, "roi": "0,0,9,9"}
    assert child.parameters() == json.dumps(texts)


def test_several_children_are_in_work_at_once(bls, triton) -> None:
    counts = []

    def note(_):
        counts.append(len(triton.ASYNC_CALLS))
        return triton.InferenceResponse()

    triton.MODELS["plate_recognition"] = note
    infer = infer_beside(bls, triton.InferenceRequest())

    async def call_twice() -> None:
        await asyncio.gather(*(infer("plate_recognition", NET) for _ in range(2)))

    asyncio.run(call_twice())
    assert counts == [2, 2]


@pytest.mark.usefixtures("recognition")
def test_a_caller_that_goes_later_is_noticed_at_the_next_child(bls, triton) -> None:
    request = SimpleNamespace(**dict.fromkeys(("request_id", "timeout", "trace"), lambda: 0))
    goes = iter([False, True])
    request.is_cancelled = lambda: next(goes)
    infer = infer_beside(bls, request)
    asyncio.run(infer("plate_recognition", NET))
    with pytest.raises(errors.Cancelled, match="cancelled"):
        asyncio.run(infer("plate_recognition", NET))
    assert len(triton.CALLS) == 1


def test_errors_are_told_alike(bls, triton, refuse) -> None:
    refuse("plate_recognition", "Exceeds maximum queue size", triton.TritonError.INTERNAL)
    with pytest.raises(errors.Overloaded, match=r"^plate_recognition: Exceeds maximum"):
        asyncio.run(infer_beside(bls, triton.InferenceRequest())("plate_recognition", NET))


def test_answers_come_by_name(bls, triton) -> None:
    crops, theta = np.ones((1, 3), np.float32), np.zeros((1, 2, 3), np.float32)
    triton.MODELS["stn"] = lambda _: triton.InferenceResponse(
        [triton.Tensor("output__1", theta), triton.Tensor("output__0", crops)]
    )
    answer = bls.infer_for(triton.InferenceRequest())("stn", NET)
    assert answer["output__0"].tolist() == [[1, 1, 1]]
    assert answer["output__1"].shape == (1, 2, 3)


def test_what_its_caller_has_given_up_asks_no_network(bls, triton) -> None:
    infer = bls.infer_for(triton.InferenceRequest(is_cancelled=True))
    with pytest.raises(errors.Cancelled, match="cancelled"):
        infer("yolo", NET)
    assert triton.CALLS == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param("UNAVAILABLE", "Exceeds maximum queue size", id="full"),
        pytest.param("INTERNAL", "Exceeds maximum queue size", id="full, told by a child"),
        pytest.param("INTERNAL", "'yolo' is not ready", id="unloaded"),
        pytest.param("INTERNAL", "stub process 'yolo' is not healthy.", id="dead worker"),
        pytest.param("INTERNAL", "cannot infer on [1]: CUDA out of memory", id="no memory"),
        pytest.param("INTERNAL", "Failed to increase the shared memory pool", id="no shm"),
    ],
)
def test_a_model_that_is_away_is_want_of_capacity(
    bls, triton, refuse, code: str, message: str
) -> None:
    refuse("yolo", message, getattr(triton.TritonError, code))
    with pytest.raises(errors.Overloaded, match=re.escape(f"yolo: {message}")):
        bls.infer_for(triton.InferenceRequest())("yolo", NET)


def test_an_illegal_memory_access_is_no_want_of_memory(bls, triton, refuse) -> None:
    refuse("yolo", "CUDA error: an illegal memory access", triton.TritonError.INTERNAL)
    with pytest.raises(errors.ModelError, match="illegal memory access"):
        bls.infer_for(triton.InferenceRequest())("yolo", NET)


def test_any_other_fault_of_a_model_is_a_model_error(bls, triton, refuse) -> None:
    refuse("lprnet", "cannot infer on [1, 2]: overflow", triton.TritonError.INVALID_ARG)
    with pytest.raises(errors.ModelError, match=r"^lprnet: cannot infer on \[1, 2\]: overflow$"):
        bls.infer_for(triton.InferenceRequest())("lprnet", NET)


def test_a_worker_on_a_cpu_gets_arrays_of_numpy(bls, triton) -> None:
    triton.MODELS["stn"] = lambda request: triton.InferenceResponse(request.inputs())
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    (answer,) = bls.infer_for(triton.InferenceRequest())("stn", {"input__0": array}).values()
    assert isinstance(answer, np.ndarray)
    assert answer.tolist() == array.tolist()
