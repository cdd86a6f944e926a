"""The gRPC port: what tritonclient is answered, and how it is refused."""

import logging

import grpc
import pytest
from tritonclient.grpc import InferRequestedOutput
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub
from tritonclient.utils import InferenceServerException

from orchestrator.errors import PictureError
from orchestrator.gateway.errors import NotFound, QuotaExceeded, ServiceFull
from orchestrator.protocol.inference import InferenceRequest, Tensor
from tests.gateway.grpc_fakes import (
    MIB,
    MODEL,
    PARENT,
    FakeService,
    ask,
    infer,
    picture,
    refusal,
    request,
)


class TestTritonclient:
    def test_a_call_is_answered(self) -> None:
        service = FakeService()
        result = ask(
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

    def test_a_visit_knows_who_comes_with_how_much(self) -> None:
        service = FakeService()
        ask(service, lambda client: client.infer(MODEL, [picture()], headers={"x-key": "1"}))
        ((what, address, headers),) = service.admissions
        assert (what, address, dict(headers)["x-key"]) == ("infer", "127.0.0.1", "1")
        assert 18 < service.size < 100

    def test_questions_are_answered(self) -> None:
        service = FakeService()
        assert ask(service, lambda client: client.is_server_live()) is True
        assert ask(service, lambda client: client.is_server_ready()) is False
        assert ask(service, lambda client: client.is_model_ready(MODEL, "1")) is True
        assert ask(service, lambda client: client.get_server_metadata()).name == "gateway"
        metadata = ask(service, lambda client: client.get_model_metadata(MODEL, "1"))
        assert (metadata.name, list(metadata.versions)) == (MODEL, ["1"])
        assert ask(service, lambda client: client.get_model_config(MODEL)).config.name == MODEL

    def test_another_model_is_not_found(self) -> None:
        with pytest.raises(InferenceServerException, match=f"wanted {MODEL}, got yolo") as raised:
            ask(FakeService(), lambda client: client.is_model_ready("yolo"))
        assert raised.value.status() == "StatusCode.NOT_FOUND"

    @pytest.mark.parametrize(
        "question",
        [
            pytest.param(lambda client: client.get_model_repository_index(), id="index"),
            pytest.param(lambda client: client.unload_model("yolo"), id="unload"),
            pytest.param(lambda client: client.get_inference_statistics(), id="statistics"),
            pytest.param(lambda client: client.update_log_settings({"log_info": False}), id="log"),
            pytest.param(lambda client: client.register_system_shared_memory("x", "/x", 1),
                         id="shared memory"),
        ],
    )  # fmt: skip
    def test_nothing_else_is_implemented(self, question, caplog) -> None:
        with pytest.raises(InferenceServerException) as raised:
            ask(FakeService(), question)
        assert raised.value.status() == "StatusCode.UNIMPLEMENTED"
        assert caplog.messages == []


class TestRefusals:
    @pytest.mark.parametrize(
        ("error", "code", "message"),
        [
            pytest.param(
                PictureError("no picture"), "INVALID_ARGUMENT", "no picture", id="picture"
            ),
            pytest.param(NotFound("no model"), "NOT_FOUND", "no model", id="model"),
            pytest.param(QuotaExceeded("too many"), "RESOURCE_EXHAUSTED", "too many", id="rate"),
            pytest.param(ServiceFull("full"), "UNAVAILABLE", "full", id="full"),
        ],
    )
    def test_each_has_its_code(self, error: Exception, code: str, message: str, caplog) -> None:
        with pytest.raises(InferenceServerException, match=message) as raised:
            ask(FakeService(error), infer)
        assert raised.value.status() == f"StatusCode.{code}"
        assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []

    def test_a_fault_of_ours_is_not_told(self) -> None:
        with pytest.raises(InferenceServerException, match="could not answer") as raised:
            ask(FakeService(ZeroDivisionError("secret")), infer)
        assert raised.value.status() == "StatusCode.INTERNAL"
        assert "secret" not in raised.value.message()

    def test_it_says_when_to_try_again(self) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            await GRPCInferenceServiceStub(channel).ModelInfer(request())

        error = refusal(FakeService(QuotaExceeded("slowly", 1.2)), conversation)
        assert dict(error.trailing_metadata())["retry-after"] == "2"
        error = refusal(FakeService(PictureError("no")), conversation)
        assert "retry-after" not in dict(error.trailing_metadata())

    def test_a_stream_of_calls_is_not_implemented(self) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            stream = GRPCInferenceServiceStub(channel).ModelStreamInfer(iter([request()]))
            await stream.read()

        assert refusal(FakeService(), conversation).code().name == "UNIMPLEMENTED"

    @pytest.mark.parametrize("message", [b"\xff\xff", b"\x32\0" * 1000])
    def test_bytes_that_are_no_call_are_counted_as_a_visit(self, message: bytes) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            await channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")(message)

        service = FakeService()
        assert refusal(service, conversation).code().name == "INVALID_ARGUMENT"
        assert (len(service.admissions), service.calls) == (1, [])

    @pytest.mark.parametrize(
        ("message", "code"), [(b"\xff\xff", "INVALID_ARGUMENT"), (bytes(MIB), "RESOURCE_EXHAUSTED")]
    )
    def test_bytes_that_are_no_question_are_refused(self, message: bytes, code: str) -> None:
        async def conversation(channel: grpc.aio.Channel) -> None:
            await channel.unary_unary("/inference.GRPCInferenceService/ModelReady")(message)

        assert refusal(FakeService(), conversation).code().name == code
