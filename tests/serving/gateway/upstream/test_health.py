"""The health check by a test picture: its answers, and their times."""

import asyncio

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.gateway.errors import ServiceFull
from orchestrator.serving.gateway.upstream.health import Canary, plate_reading
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, Tensor

TEXT = "A123BC77"


class Asked:
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
        texts = b"".join(len(t).to_bytes(4, "little") + t.encode() for t in answer.split())
        rows = len(answer.split())
        return InferenceResponse(
            call.model, "1", call.id, (Tensor("texts", "BYTES", (rows, 1), texts),)
        )

    def canary(self, text: str = TEXT) -> Canary:
        return Canary(plate_reading(self.infer, b"a picture"), text, clock=lambda: self.now)


def ask(canary: Canary, times: int = 1) -> None:
    for _ in range(times):
        asyncio.run(canary.check())


def test_a_service_that_was_never_asked_is_alive_and_not_ready() -> None:
    canary = Asked().canary()
    assert (canary.is_alive(), canary.is_ready()) == (True, False)


def test_a_service_that_reads_the_plate_is_ready() -> None:
    asked = Asked(TEXT)
    canary = asked.canary()
    ask(canary)
    assert canary.is_ready()
    assert [(call.model, call.outputs, call.id) for call in asked.calls] == [
        ("plate_recognition", ("texts",), "probe")
    ]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("", id="no plate"),
        pytest.param("A123BC78", id="another text"),
        pytest.param(f"{TEXT} {TEXT}", id="twice"),
        pytest.param(ServerError("away"), id="away"),
    ],
)
def test_a_service_that_does_not_read_the_plate_is_not_ready(answer: str | Exception) -> None:
    canary = Asked(answer).canary()
    ask(canary)
    assert not canary.is_ready()


def test_a_service_that_is_full_is_ready() -> None:
    canary = Asked(ServiceFull("the queue is full")).canary()
    ask(canary)
    assert canary.is_ready()


def test_without_a_text_any_answer_will_do() -> None:
    canary = Asked("").canary(text="")
    ask(canary)
    assert canary.is_ready()


@pytest.mark.parametrize(
    ("later_s", "alive_and_ready"),
    [
        pytest.param(29.9, (True, True), id="lately"),
        pytest.param(30.0, (True, False), id="not lately"),
        pytest.param(119.9, (True, False), id="for long"),
        pytest.param(120.0, (False, False), id="for too long"),
    ],
)
def test_what_was_read_long_ago_no_longer_counts(
    later_s: float, alive_and_ready: tuple[bool, bool]
) -> None:
    asked = Asked(TEXT, ServerError("away"))
    canary = asked.canary()
    ask(canary)
    asked.now += later_s
    ask(canary)
    assert (canary.is_alive(), canary.is_ready()) == alive_and_ready
