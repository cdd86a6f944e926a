"""Calls are sent again while Triton is away, but not those that bring its workers down."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace

import pytest

from orchestrator.contract import PROBE, unmark
from orchestrator.errors import ModelError, RequestError, ServerError
from orchestrator.serving.gateway.errors import DeadlineExceeded, HarmfulRequest
from orchestrator.serving.gateway.upstream import retry
from orchestrator.serving.gateway.upstream.retry import MAX_DURATION_S, RetryPolicy, fingerprint_of
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, Tensor
from tests.virtual_time import run_virtually

AWAY = ServerError("away")


def call(picture: bytes = b"picture", **fields: object) -> InferenceRequest:
    tensor = Tensor("encoded_image", "BYTES", (1,), picture)
    return InferenceRequest("plate_recognition", (tensor,), **{"id": "gate-7", **fields})


class FailingTriton:
    """Fails a number of times, then answers; a picture `bad...` kills each worker.

    Attributes:
        outcomes: Errors of the next calls.
        suspects: Function that returns the suspects for a worker's end when a call fails.
    """

    def __init__(
        self, *outcomes: Exception, suspects: Callable[[str], list[str]] | None = None
    ) -> None:
        self.outcomes, self.suspects = [*outcomes], suspects
        self.sent_ids: list[str] = []
        self.timeouts_s: list[float] = []
        self.now = 0.0
        self.pauses: list[float] = []
        self.retries = RetryPolicy(self.send, 30.0, 60.0, lambda: self.now, self.sleep)

    async def send(self, call: InferenceRequest, id: str, within_s: float) -> InferenceResponse:
        self.sent_ids.append(id)
        self.timeouts_s.append(within_s)
        if call.inputs[0].data.startswith(b"bad"):
            self.retries.blame([id], "hung for 2.5 s")
            raise AWAY
        if self.outcomes:
            if self.suspects:
                self.retries.blame(self.suspects(id), "SIGSEGV")
            raise self.outcomes.pop(0)
        return InferenceResponse(call.model, "1", call.id, ())

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def ask(self, request: InferenceRequest, within_s: float = 60.0) -> InferenceResponse:
        return asyncio.run(self.retries.infer(replace(request, timeout_s=within_s)))


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def gather(*tasks: Coroutine[None, None, None]) -> None:
    await asyncio.gather(*tasks)


def test_an_answered_call_is_sent_once_and_gets_its_own_id_back() -> None:
    triton = FailingTriton()
    assert triton.ask(call()).id == "gate-7"
    assert [unmark(id) for id in triton.sent_ids] == ["gate-7"]
    assert triton.retries.count == 0
    triton.ask(call())
    assert len({*triton.sent_ids}) == 2  # no two calls have one id where Triton sees them
    triton.ask(call(id=PROBE))
    assert triton.sent_ids[2] == PROBE  # a health check keeps its id


def test_a_call_that_met_no_triton_is_sent_again_after_growing_pauses() -> None:
    triton = FailingTriton(*[AWAY] * 6)
    assert triton.ask(call()).id == "gate-7"
    assert triton.pauses == pytest.approx([0.02, 0.04, 0.08, 0.16, 0.2, 0.2])
    assert len({*triton.sent_ids}) == 7
    assert triton.retries.count == 6
    assert triton.timeouts_s == pytest.approx([60, 59.98, 59.94, 59.86, 59.7, 59.5, 59.3])


def test_calls_that_fail_together_leave_the_cores_alone_and_then_go_on_together() -> None:
    callers, back_at_s = 16, 4.0
    send_times_s, answer_times_s = [], []

    async def send(request: InferenceRequest, id: str, _within_s: float) -> InferenceResponse:
        if unmark(request.id) == "another model":
            return InferenceResponse(request.model, "1", request.id, ())
        send_times_s.append(now_s())
        if now_s() < back_at_s:
            raise AWAY
        return InferenceResponse(request.model, "1", request.id, ())

    retries = RetryPolicy(send, 30.0, 60.0, now_s, asyncio.sleep)

    async def ask() -> None:
        await retries.infer(call())
        answer_times_s.append(now_s())

    async def ask_another_model() -> None:
        for _ in range(40):
            await retries.infer(call(id="another model"))
            await asyncio.sleep(0.1)

    run_virtually(gather(ask_another_model(), *(ask() for _ in range(callers))))
    assert len(answer_times_s) == callers
    assert max(answer_times_s) <= back_at_s + 2 * MAX_DURATION_S
    vain_sends = sum(sent_at_s < back_at_s for sent_at_s in send_times_s)
    assert vain_sends < callers * 5 + back_at_s / MAX_DURATION_S  # each on its own: 16 * 23


@pytest.mark.parametrize(
    ("fault", "is_ending"),
    [(RequestError("no picture"), False), (ModelError("failed"), False), (AWAY, True)],
)
def test_what_another_try_does_not_mend_is_told_at_once(
    fault: Exception, *, is_ending: bool
) -> None:
    triton = FailingTriton(fault)
    if is_ending:  # the gateway
        triton.retries.end()
    with pytest.raises(type(fault)):
        triton.ask(call())
    assert len(triton.sent_ids) == 1


@pytest.mark.parametrize(
    ("within_s", "least_s", "most_s"), [(60.0, 29.5, 30.0), (1.0, 0.5, 1.0), (0.02, 0.02, 0.02)]
)
def test_a_call_is_given_up_within_the_service_s_and_its_own_time(
    within_s: float, least_s: float, most_s: float
) -> None:
    triton = FailingTriton(*[AWAY] * 1000)
    with pytest.raises(ServerError):
        triton.ask(call(), within_s)
    assert least_s <= triton.now <= most_s


def test_a_late_call_is_told_the_time_of_all_its_tries() -> None:
    triton = FailingTriton(AWAY, AWAY, DeadlineExceeded("wanted an answer within -0 s"))
    with pytest.raises(DeadlineExceeded, match=r"^wanted an answer within 5 s, got none$"):
        triton.ask(call(), 5.0)


def test_the_id_of_a_call_tells_whether_it_ended_a_worker() -> None:
    triton = FailingTriton(
        AWAY, AWAY, suspects=lambda id: [id[-160:]]
    )  # what a heartbeat keeps of it
    with pytest.raises(HarmfulRequest):
        triton.ask(call(id="x" * 500))
    triton = FailingTriton(AWAY, AWAY, suspects=lambda _: ["a caller of Triton itself", ""])
    assert triton.ask(call(id=PROBE)).id == PROBE


async def test_a_suspect_waits_for_another_no_longer_than_it_may() -> None:
    async def send(request: InferenceRequest, id: str, _within_s: float) -> InferenceResponse:
        if request.inputs[0].data not in pictures:
            pictures.add(request.inputs[0].data)
            retries.blame([id], "SIGSEGV")
            raise AWAY
        is_alone.set()
        await asyncio.Event().wait()  # the first suspect never comes back
        raise AssertionError

    pictures: set[bytes] = set()
    is_alone = asyncio.Event()
    retries = RetryPolicy(send, 30.0, 60.0, sleep=lambda _: asyncio.sleep(0))
    first = asyncio.create_task(retries.infer(call(b"a")))
    await is_alone.wait()
    with pytest.raises(DeadlineExceeded, match="another call is tried alone"):
        await retries.infer(call(b"b", timeout_s=1.0))
    first.cancel()


def test_a_call_that_was_only_there_when_a_worker_ended_is_not_held_against_it() -> None:
    triton = FailingTriton(AWAY, suspects=lambda id: [id])
    assert triton.ask(call()).id == "gate-7"
    triton.outcomes = [AWAY]
    assert triton.ask(call()).id == "gate-7"  # a second strike, had the first not been forgotten
    assert len(triton.sent_ids) == 4


@pytest.mark.parametrize("end", [DeadlineExceeded("1 s"), asyncio.CancelledError()])
def test_a_call_whose_caller_did_not_wait_for_the_worker_s_end_is_blamed_too(
    end: Exception,
) -> None:
    triton = FailingTriton(end, end, end)
    for _ in range(2):
        with pytest.raises(type(end)):
            triton.ask(call(), 1.0)
        triton.retries.blame([triton.sent_ids[-1]], "hung for 2.5 s")
    with pytest.raises(HarmfulRequest):
        triton.ask(call(), 1.0)
    with pytest.raises(type(end)):
        triton.ask(call(b"pictura"), 1.0)


def test_a_call_that_ended_two_workers_is_refused_while_it_is_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retry, "MAX_ENTRIES", 2)
    triton = FailingTriton()

    def times_sent(picture: bytes) -> int:
        before = len(triton.sent_ids)
        with pytest.raises(HarmfulRequest, match=r"ended 2 workers.*hung for 2\.5 s"):
            triton.ask(call(picture, id=f"call {before}"))
        return len(triton.sent_ids) - before

    order = [b"bad 1", b"bad 2", b"bad 1", b"bad 2", b"bad 3", b"bad 2", b"bad 1"]
    assert [times_sent(picture) for picture in order] == [2, 2, 0, 0, 2, 0, 2]
    assert triton.ask(call(b"pad 1")).id == "gate-7"  # as long, and another


def test_suspected_calls_are_sent_one_at_a_time() -> None:
    at_once: list[int] = []
    under_way: set[str] = set()
    pictures: set[bytes] = set()

    async def send(request: InferenceRequest, id: str, _within_s: float) -> InferenceResponse:
        picture = request.inputs[0].data
        if picture not in pictures:
            pictures.add(picture)
            retries.blame([id], "SIGSEGV")
            raise AWAY
        under_way.add(id)
        at_once.append(len(under_way))
        await asyncio.sleep(0.05)
        under_way.remove(id)
        return InferenceResponse(request.model, "1", request.id, ())

    retries = RetryPolicy(send, 30.0, 60.0, now_s, asyncio.sleep)

    async def ask(picture: bytes) -> None:
        await retries.infer(call(picture))

    run_virtually(gather(*(ask(picture) for picture in (b"a", b"b", b"c"))))
    assert at_once == [1, 1, 1]


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (call(id="other"), True),
        (call(outputs=("texts",)), True),
        (call(b"pictura"), False),
        (call(parameters={"max_plates": 1}), False),
    ],
    ids=["id", "outputs", "picture", "parameters"],
)
def test_a_fingerprint_is_that_of_picture_and_parameters(
    other: InferenceRequest, *, is_same: bool
) -> None:
    assert (fingerprint_of(other) == fingerprint_of(call())) is is_same
