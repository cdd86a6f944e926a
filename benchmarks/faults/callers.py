"""Callers that never stop, what each of their calls came to, and what it should have come to."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial

from benchmarks.faults.pictures import find_twins
from benchmarks.faults.wires import (
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
from benchmarks.pictures import Picture
from orchestrator.errors import ModelError

BACK_OFF_S = 0.25
"""A caller pauses so long after a call without an answer, as a program that is not rude does."""

Connect = Mapping[str, Callable[[], Caller]]
"""By protocol, what opens the connection of one more caller."""


@dataclass(frozen=True)
class Call:
    """One call; moments are seconds of the monotonic clock.

    Attributes:
        protocol: One of those of `wires`.
        picture: Its number.
        began: When it was first and only sent.
        status: That of its `Reply`.
        is_wrong: It was answered, and not as the picture is when it is alone.
        told: Why it has no answer.
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
    """What is sent, built once: callers share the cores with the service."""

    kserve: Sequence[Request]
    grpc: Sequence[bytes]
    rest: Sequence[Request]
    read: Sequence[Request]

    @classmethod
    def of(cls, pictures: Sequence[Picture], crops: Sequence[Picture]) -> Questions:
        """Return the calls that ask for pictures, and for as many crops of plates."""
        return cls(
            [*map(over_kserve, pictures)],
            [*map(over_grpc, pictures)],
            [*map(over_rest, pictures)],
            [over_rest(crop, "read") for crop in crops],
        )

    def connect(self, http: str, grpc: str) -> Connect:
        """Return how a gateway is called, at these addresses."""
        return {
            HTTP: partial(HttpCaller, http, self.kserve, digest_kserve),
            GRPC: partial(GrpcCaller, grpc, self.grpc),
            REST: partial(HttpCaller, http, self.rest, digest_json),
            READ: partial(HttpCaller, http, self.read, digest_json),
        }


Answers = Mapping[str, Sequence[str]]
"""By protocol, the digest of each picture's answer."""


def take_answers(connect: Connect, count: int) -> Answers:
    """Send the pictures one by one to a quiet service and return what it says, by protocol.

    Raises:
        ModelError: One has no answer, two have the same, or protocols differ in one.
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
    """A closed loop of callers, who take the pictures in turn.

    Attributes:
        answers: That are right.
        each: Callers of each protocol.
        most: Calls that are sent, all together; without end when None.
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
        """Call for the length of a `with` block; calls in work are waited for."""
        with ThreadPoolExecutor(self.count) as pool:
            protocols = [protocol for protocol in self.connect for _ in range(self.each)]
            self._driven = [pool.submit(self._drive, protocol) for protocol in protocols]
            try:
                yield
            finally:
                self.is_over.set()
        self.wait()  # raises what a caller stumbled over, were it a fault of ours

    @property
    def count(self) -> int:
        """How many callers there are."""
        return self.each * len(self.connect)

    def wait(self) -> None:
        """Return when the last of `most` calls is over."""
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
        """Tell whether all callers were answered lately, and nobody failed, since a moment."""
        now, lately = time.monotonic(), [*self.calls]
        recent = [call for call in lately if call.ended >= now - quiet_s]
        if now < since + quiet_s or not all(call.is_answered for call in recent):
            return False
        served = [call.protocol for call in recent if call.began >= since]
        return all(served.count(protocol) >= self.each for protocol in self.connect)


def make_call(protocol: str, caller: Caller, picture: int, answers: Sequence[str]) -> Call:
    """Send a picture once and compare what comes with what should."""
    began = time.monotonic()
    reply: Reply = caller.send(picture)
    ended = time.monotonic()
    is_wrong = reply.status == ANSWERED and reply.digest != answers[picture]
    return Call(protocol, picture, began, ended, reply.status, is_wrong, reply.told)
