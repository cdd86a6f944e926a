"""The gRPC port: answers and errors for tritonclient."""

import logging

import pytest
from tritonclient.grpc import InferRequestedOutput
from tritonclient.utils import InferenceServerException

from orchestrator.errors import PictureError
from orchestrator.serving.gateway.errors import NotFound, QuotaExceeded, ServiceFull
from orchestrator.serving.protocol.inference import InferenceRequest, Tensor
from tests.serving.gateway.grpc_fakes import (
    MIB,
    MODEL,
    PARENT,
    FakeService,
    ask,
    infer,
    picture,
    request,
    serving,
)


async def test_a_call_of_tritonclient_is_answered() -> None:
    service = FakeService()
    result = await ask(
        service,
        lambda client: client.infer(
            MODEL,
            [picture()],
            outputs=[InferRequestedOutput("texts")],
            request_id="7",
            parameters={"max_plates": 3, "text_threshold": 0.5},
            timeout=1000,
            headers={"authorization": "Bearer key", "traceparent": PARENT},
        ),
    )
    assert result.as_numpy("texts").tolist() == [[b"A001AA77"]]
    assert result.get_response().id == "7"
    assert service.calls == [
        InferenceRequest(
            MODEL,
            (Tensor("input__0", "UINT8", (2, 3, 3), bytes(range(18))),),
            outputs=("texts",),
            id="7",
            parameters={"max_plates": 3, "text_threshold": 0.5, "timeout": 1000},
            trace={"traceparent": PARENT},
        )
    ]
    ((kind, address, headers),) = service.admissions
    assert (kind, address, dict(headers)["authorization"]) == ("infer", "127.0.0.1", "Bearer key")
    assert 18 < service.size < 300


async def test_questions_of_tritonclient_are_answered() -> None:
    async def question(client) -> None:
        assert await client.is_server_live() is True
        assert await client.is_server_ready() is False
        assert await client.is_model_ready(MODEL, "1") is True
        assert (await client.get_server_metadata()).name == "gateway"
        metadata = await client.get_model_metadata(MODEL, "1")
        assert (metadata.name, list(metadata.versions)) == (MODEL, ["1"])
        assert (await client.get_model_config(MODEL)).config.name == MODEL

    await ask(FakeService(), question)


async def test_another_model_is_not_found() -> None:
    with pytest.raises(InferenceServerException, match=f"wanted {MODEL}, got yolo") as raised:
        await ask(FakeService(), lambda client: client.is_model_ready("yolo"))
    assert raised.value.status() == "StatusCode.NOT_FOUND"


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(lambda client: client.get_model_repository_index(), id="index"),
        pytest.param(lambda client: client.unload_model("yolo"), id="unload"),
        pytest.param(lambda client: client.get_inference_statistics(), id="statistics"),
        pytest.param(lambda client: client.update_log_settings({"log_info": False}), id="log"),
        pytest.param(
            lambda client: client.register_system_shared_memory("x", "/x", 1), id="shared memory"
        ),
    ],
)
async def test_nothing_else_is_implemented(question, caplog) -> None:
    with pytest.raises(InferenceServerException) as raised:
        await ask(FakeService(), question)
    assert raised.value.status() == "StatusCode.UNIMPLEMENTED"
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        pytest.param(PictureError("no picture"), "INVALID_ARGUMENT", "no picture", id="picture"),
        pytest.param(NotFound("no model"), "NOT_FOUND", "no model", id="model"),
        pytest.param(QuotaExceeded("too many"), "RESOURCE_EXHAUSTED", "too many", id="rate"),
        pytest.param(ServiceFull("full"), "UNAVAILABLE", "full", id="full"),
    ],
)
async def test_each_error_has_its_code(error: Exception, code: str, message: str, caplog) -> None:
    with pytest.raises(InferenceServerException, match=message) as raised:
        await ask(FakeService(error), infer)
    assert raised.value.status() == f"StatusCode.{code}"
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


async def test_a_fault_of_ours_is_not_told() -> None:
    with pytest.raises(InferenceServerException, match="could not answer") as raised:
        await ask(FakeService(ZeroDivisionError("secret")), infer)
    assert raised.value.status() == "StatusCode.INTERNAL"
    assert "secret" not in raised.value.message()


@pytest.mark.parametrize(
    ("error", "retry_after"), [(QuotaExceeded("slowly", 1.2), "2"), (PictureError("no"), None)]
)
async def test_a_refusal_says_when_to_try_again(error: Exception, retry_after: str | None) -> None:
    async with serving(FakeService(error)) as stub:
        metadata = await stub.ModelInfer(request()).trailing_metadata()
    assert dict(metadata).get("retry-after") == retry_after


async def test_a_stream_of_calls_is_not_implemented() -> None:
    async with serving(FakeService()) as stub:
        assert (await stub.ModelStreamInfer(iter([request()])).code()).name == "UNIMPLEMENTED"


@pytest.mark.parametrize(
    ("method", "message", "code"),
    [
        pytest.param("ModelInfer", b"\xff\xff", "INVALID_ARGUMENT", id="no call"),
        pytest.param("ModelInfer", b"\x32\0" * 1000, "INVALID_ARGUMENT", id="empty inputs"),
        pytest.param("ModelReady", b"\xff\xff", "INVALID_ARGUMENT", id="no question"),
        pytest.param("ModelReady", bytes(MIB), "RESOURCE_EXHAUSTED", id="large question"),
    ],
)
async def test_bytes_that_are_no_message_are_admitted_like_a_call_and_refused(
    method: str, message: bytes, code: str
) -> None:
    service = FakeService()
    async with serving(service) as stub:
        call = stub.channel.unary_unary(f"/inference.GRPCInferenceService/{method}")(message)
        assert (await call.code()).name == code
    assert (len(service.admissions), service.calls) == (1, [])
