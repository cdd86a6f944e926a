"""Reasons why a gate has not opened: sentences for the record, and their codes for pages.

The record holds the sentence alone. A page in another language reads the code and the values back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

REASONS: Mapping[str, str] = {
    "moved": "the vehicle is not where the gate wants it",
    "unlisted": "the plate is on none of the gate's lists any more",
    "asked": "the gate was asked for this vehicle already",
    "schedule": "outside the gate's schedule",
    "stale_lists": "the lists could not be read for {age_s} s",
    "score": "the text's score is below {threshold}",
    "old_frame": "the last frame is too old",
    "ended": "the command ended",
    "gone_gate": "the gate was taken out of the configuration",
    "interrupted": "the request was interrupted",
    "hold_off": "opened for this plate {ago_s} s ago; hold_off_s is {hold_off_s}",
    "blocked": "the plate is on a list for which the gate never opens",
    "no_blocked_list": "there is no list {name}, for whose plates the gate never opens",
    "late": "the command came too late",
    "nobody": "no plates watch runs that has this gate",
    "begun": "the gate has not answered yet",
    "left": "the gate was open; meanwhile the vehicle has left, or its text has changed",
    "silent": "the relay does not answer",
    "unreachable": "cannot reach the relay: {failure}",
    "lost": "the connection to the relay was lost: {failure}",
    "other_answer": "the relay confirms something else",
    "connection": "cannot connect to {address}",
    "status": "the relay answered with status {status}",
    "rejected": "the relay refuses: {failure}",
    "silent_device": "the device does not answer",
    "device": "the device: {failure}",
    "long_answer": "the answer is longer than {most} bytes",
    "still_on": "the relay may still be on: {failure}",
}
"""Sentences by their codes."""


@dataclass(frozen=True)
class Reason:
    """A reason whose sentence is known.

    Attributes:
        code: One of `REASONS`.
        values: The values in its sentence, as text.
    """

    code: str
    values: Mapping[str, str]


def to_sentence(code: str, **values: object) -> str:
    """Return the sentence of a reason.

    Args:
        code: One of `REASONS`.
        values: The values in its sentence.
    """
    return REASONS[code].format(**values)


def read_reason(sentence: str) -> Reason | None:
    """Return the reason in a sentence; None for other sentences, such as a person's remark."""
    for code, pattern in _patterns().items():
        if match := pattern.fullmatch(sentence):
            return Reason(code, match.groupdict())
    return None


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {code: _to_pattern(sentence) for code, sentence in REASONS.items()}


def _to_pattern(sentence: str) -> re.Pattern[str]:
    expression = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(sentence))
    return re.compile(expression, re.DOTALL)
