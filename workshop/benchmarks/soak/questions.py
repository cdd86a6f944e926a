"""The questions of the callers: good pictures in all ways, and a bad call in every ten.

The calls of a run are numbered, and the number decides which question is sent. So all runs of
the same length send the same questions, and every part of a run sends the same mixture.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from workshop.benchmarks.soak.messages import Message
from workshop.benchmarks.soak.wire import DROPPED, OK, Answer

EVERY = 10
"""One of this many calls is bad."""


@dataclass(frozen=True)
class Question:
    """A call, and the answer that it must get.

    Attributes:
        name: The name in messages.
        message: The message that is sent.
        wanted: The wanted answer. The error must contain its words. Its texts are those that the
            picture gets when it is sent alone.
        hangs_up_s: Seconds after which the caller hangs up; it does not hang up when 0.
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
        """Describe how an answer differs from the wanted one; empty when it does not."""
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
        good: The good questions, in the order in which they are sent.
        bad: The bad questions, in the order in which they are sent.
    """

    good: Sequence[Question]
    bad: Sequence[Question]

    def question(self, number: int) -> Question:
        """Return the question of the call with this number, counted from 0."""
        turn, place = divmod(number, EVERY)
        if place == EVERY - 1:
            return self.bad[turn % len(self.bad)]
        return self.good[(number - turn) % len(self.good)]


def shuffle(good: Sequence[Question], bad: Sequence[Question], seed: int = 0) -> Deck:
    """Shuffle both lists, in the same way each time, so that small and large pictures mix."""
    order = random.Random(seed)
    return Deck(order.sample(good, len(good)), order.sample(bad, len(bad)))


def expect(question: Question, texts: Sequence[str]) -> Question:
    """Return the same question with other wanted texts."""
    return replace(question, wanted=replace(question.wanted, texts=tuple(texts)))


def _list(texts: Sequence[str]) -> str:
    return ", ".join(texts) or "no plate"
