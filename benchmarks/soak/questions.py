"""What callers ask: good pictures in every way there is, and in every tenth call a bad one.

The calls of a run are numbered, and a number says what is asked. So every run of the same length
asks the same, and every part of it asks the same mixture.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.soak.messages import Message
from benchmarks.soak.wire import DROPPED, OK, Answer

EVERY = 10
"""One of so many calls is bad."""


@dataclass(frozen=True)
class Question:
    """A call, and the answer that it must get.

    Attributes:
        name: In messages for people.
        message: What is sent.
        wanted: Its words are part of what must be said; its texts are those that the picture gets
            alone.
        hangs_up_s: When the caller hangs up; never when 0.
    """

    name: str
    message: Message
    wanted: Answer
    hangs_up_s: float = 0.0

    @property
    def is_good(self) -> bool:
        return self.wanted.status in OK

    @property
    def is_dropped(self) -> bool:
        return self.wanted.status == DROPPED

    def tell_wrong(self, answer: Answer) -> str:
        """Say in what an answer is not the one that it must be; empty when it is."""
        wanted = self.wanted
        if answer.status == wanted.status and wanted.words in answer.words:
            if answer.texts == wanted.texts:
                return ""
            return f"{self.name}: wanted {_list(wanted.texts)}, got {_list(answer.texts)}"
        got = f"{answer.status} {answer.words[:200]}".strip()
        return f"{self.name}: wanted {wanted.status} {wanted.words}".rstrip() + f", got {got}"


@dataclass(frozen=True)
class Deck:
    """The questions of a run.

    Attributes:
        good: In the order in which they come.
        bad: Likewise.
    """

    good: Sequence[Question]
    bad: Sequence[Question]

    def question(self, number: int) -> Question:
        """Return what the call of a number, from 0, asks."""
        turn, place = divmod(number, EVERY)
        if place == EVERY - 1:
            return self.bad[turn % len(self.bad)]
        return self.good[(number - turn) % len(self.good)]


def shuffle(good: Sequence[Question], bad: Sequence[Question], seed: int = 0) -> Deck:
    """Mix both, the same way each time: small and large pictures follow one another."""
    order = random.Random(seed)
    return Deck(order.sample(good, len(good)), order.sample(bad, len(bad)))


def expect(question: Question, texts: Sequence[str]) -> Question:
    """Return the same question, that must be answered by other texts."""
    return replace(question, wanted=replace(question.wanted, texts=tuple(texts)))


def _list(texts: Sequence[str]) -> str:
    return ", ".join(texts) or "no plate"
