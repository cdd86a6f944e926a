"""Callers that call in a closed loop, and compare each answer with the right one."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial

from orchestrator.errors import ModelError
from workshop.benchmarks.faults.pictures import find_twins
from workshop.benchmarks.faults.wires import (
    ANSWERED,
    GRPC,
    HTTP,
    LOST,
    READ,
    REST,
    TENSORS,
    Caller,
    GrpcCaller,
    HttpCaller,
    Reply,
    Request,
    digest_json,
    digest_kserve,
    over_grpc,
    over_kserve,
    over_rest,
)
from workshop.benchmarks.pictures import Picture

BACK_OFF_S = 0.25
"""The backoff of a caller after a call without an answer, in seconds."""

Connect = Mapping[str, Callable[[], Caller]]
"""By protocol, the function that opens the connection of one more caller."""


@dataclass(frozen=True)
class Call:
    """One call; times are seconds of the monotonic clock.

    Attributes:
        protocol: One of the protocols in `wires`.
        picture: The number of the picture.
        began: The time when the call was sent; it is sent once.
        status: The status of its `Reply`.
        is_wrong: The answer differs from the one that the picture gets alone.
        told: The reason why it has no answer.
    """

    protocol: str
    picture: int
    began: float
    ended: float
    status: str = ANSWERED
    is_wrong: bool = False
    told: str = ""

    @property
    def waited_s(self) -> float:
        return self.ended - self.began

    @property
    def is_answered(self) -> bool:
        return self.status == ANSWERED

    @property
    def is_lost(self) -> bool:
        return self.status == LOST

    @property
    def is_refused(self) -> bool:
        return not self.is_answered and not self.is_lost


@dataclass(frozen=True)
class Questions:
    """The requests, by protocol. They are built once: callers share the service's cores."""

    kserve: Sequence[Request]
    grpc: Sequence[bytes]
    rest: Sequence[Request]
    read: Sequence[Request]

    @classmethod
    def of(cls, pictures: Sequence[Picture], crops: Sequence[Picture]) -> Questions:
        """Build the requests for pictures, and for as many crops of plates."""
        return cls(
            [*map(over_kserve, pictures)],
            [*map(over_grpc, pictures)],
            [*map(over_rest, pictures)],
            [over_rest(crop, "read") for crop in crops],
        )

    def connect(self, http: str, grpc: str) -> Connect:
        """Return functions that connect callers to the gateway at these addresses, by protocol."""
        return {
            HTTP: partial(HttpCaller, http, self.kserve, digest_kserve),
            GRPC: partial(GrpcCaller, grpc, self.grpc),
            REST: partial(HttpCaller, http, self.rest, digest_json),
            READ: partial(HttpCaller, http, self.read, digest_json),
        }


Answers = Mapping[str, Sequence[str]]
"""By protocol, the digest of each picture's answer."""


def take_answers(connect: Connect, count: int) -> Answers:
    """Send the pictures one by one to a service without load; return its answers by protocol.

    Raises:
        ModelError: A picture has no answer, two have the same, or protocols differ in one.
    """
    answers = {protocol: _take(protocol, opened, count) for protocol, opened in connect.items()}
    for protocol, digests in answers.items():
        if twins := find_twins(digests):
            raise ModelError(f"{protocol}: wanted different answers, got one for {twins[0]}")
    tensors = [digests for protocol, digests in answers.items() if protocol in TENSORS]
    if any(one != tensors[0] for one in tensors):
        raise ModelError(f"wanted the same answers over {', '.join(answers)}, got different ones")
    return answers


def _take(protocol: str, opened: Callable[[], Caller], count: int) -> list[str]:
    with closing(opened()) as caller:
        replies = [caller.send(number) for number in range(count)]
    for number, reply in enumerate(replies):
        if reply.status != ANSWERED:
            raise ModelError(f"{protocol}: picture {number}: {reply.status}: {reply.told}")
    return [reply.digest for reply in replies]


@dataclass
class Load:
    """A closed loop of callers, which send the pictures in turn.

    Attributes:
        answers: The right answers.
        each: The number of callers of each protocol.
        most: The total number of calls to send; no limit when None.
    """

    connect: Connect
    answers: Answers
    each: int
    most: int | None = None
    calls: list[Call] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)
    _number: Iterator[int] = field(default_factory=itertools.count)
    _driven: list[Future[None]] = field(default_factory=list)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Run the callers for the length of a `with` block, then wait for calls in progress."""
        with ThreadPoolExecutor(self.count) as pool:
            protocols = [protocol for protocol in self.connect for _ in range(self.each)]
            self._driven = [pool.submit(self._drive, protocol) for protocol in protocols]
            try:
                yield
            finally:
                self.is_over.set()
        self.wait()  # raises the error of a caller that failed by a bug of ours

    @property
    def count(self) -> int:
        """The number of callers."""
        return self.each * len(self.connect)

    def wait(self) -> None:
        """Wait until the last of `most` calls is over."""
        for one in self._driven:
            one.result()

    def _drive(self, protocol: str) -> None:
        answers = self.answers[protocol]
        with closing(self.connect[protocol]()) as caller:
            while not self.is_over.is_set():
                number = next(self._number)
                if self.most is not None and number >= self.most:
                    return
                call = make_call(protocol, caller, number % len(answers), answers)
                self.calls.append(call)
                if not call.is_answered:
                    self.is_over.wait(BACK_OFF_S)

    def is_steady(self, since: float, quiet_s: float) -> bool:
        """Tell whether all callers were answered since a moment, and none failed lately."""
        now, lately = time.monotonic(), [*self.calls]
        recent = [call for call in lately if call.ended >= now - quiet_s]
        if now < since + quiet_s or not all(call.is_answered for call in recent):
            return False
        served = [call.protocol for call in recent if call.began >= since]
        return all(served.count(protocol) >= self.each for protocol in self.connect)


def make_call(protocol: str, caller: Caller, picture: int, answers: Sequence[str]) -> Call:
    """Send a picture once and compare its answer with the right one."""
    began = time.monotonic()
    reply: Reply = caller.send(picture)
    ended = time.monotonic()
    is_wrong = reply.status == ANSWERED and reply.digest != answers[picture]
    return Call(protocol, picture, began, ended, reply.status, is_wrong, reply.told)
