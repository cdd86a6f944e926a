"""The health check by a test picture: its answers, and their times."""

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.gateway.errors import ServiceFull
from orchestrator.serving.gateway.upstream.health import Canary, plate_reading
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, Tensor

TEXT = "A123BC77"


class FakeHealth:
    """A service that answers calls in turn; the test sets the time."""

    def __init__(self, *answers: str | Exception) -> None:
        self.now = 1000.0
        self.calls: list[InferenceRequest] = []
        self._answers = list(answers)

    async def infer(self, call: InferenceRequest) -> InferenceResponse:
        self.calls.append(call)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        texts = b"".join(len(text).to_bytes(4, "little") + text.encode() for text in answer.split())
        rows = len(answer.split())
        return InferenceResponse(
            call.model, "1", call.id, (Tensor("texts", "BYTES", (rows, 1), texts),)
        )

    def canary(self, text: str = TEXT) -> Canary:
        return Canary(plate_reading(self.infer, b"a picture"), text, clock=lambda: self.now)


@pytest.mark.parametrize(
    ("text", "answer", "is_ready"),
    [
        pytest.param(TEXT, TEXT, True, id="read"),
        pytest.param(TEXT, "", False, id="no plate"),
        pytest.param(TEXT, "A123BC78", False, id="another text"),
        pytest.param(TEXT, f"{TEXT} {TEXT}", False, id="twice"),
        pytest.param(TEXT, ServerError("away"), False, id="away"),
        pytest.param(TEXT, ServiceFull("the queue is full"), True, id="full"),
        pytest.param("", "", True, id="any answer will do without a text"),
    ],
)
async def test_a_service_that_reads_the_plate_is_ready(
    text: str, answer: str | Exception, *, is_ready: bool
) -> None:
    service = FakeHealth(answer)
    canary = service.canary(text)
    assert (canary.is_alive(), canary.is_ready()) == (True, False)  # never asked
    await canary.check()
    assert canary.is_ready() is is_ready
    assert [(call.model, call.outputs, call.id) for call in service.calls] == [
        ("plate_recognition", ("texts",), "probe")
    ]


@pytest.mark.parametrize(
    ("later_s", "is_alive", "is_ready"),
    [(29.9, True, True), (30.0, True, False), (119.9, True, False), (120.0, False, False)],
)
async def test_what_was_read_long_ago_no_longer_counts(
    later_s: float, *, is_alive: bool, is_ready: bool
) -> None:
    service = FakeHealth(TEXT, ServerError("away"))
    canary = service.canary()
    await canary.check()
    service.now += later_s
    await canary.check()
    assert (canary.is_alive(), canary.is_ready()) == (is_alive, is_ready)
