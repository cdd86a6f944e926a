"""The state of one sink, for metrics and people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

COUNTS = frozenset({"delivered", "failed_attempts", "abandoned"})


@dataclass(frozen=True)
class SinkStatus:
    """The state of one sink.

    Attributes:
        name: Name of the sink.
        delivered: Events that the receiver has accepted.
        failed_attempts: Attempts that failed.
        abandoned: Events that were given up.
        waiting: Events that the receiver has not accepted yet, at the last look.
        last_error: Reason of the last failure, empty after a success.
        failure: The same without details, for a label of metrics.
        is_disabled: True if the receiver wants no more events.
    """

    name: str
    delivered: int = 0
    failed_attempts: int = 0
    abandoned: int = 0
    waiting: int = 0
    last_error: str = ""
    failure: str = ""
    is_disabled: bool = False

    def update(self, **changes: Any) -> SinkStatus:
        """Return the status after some changes: counts are added, other values replaced."""
        added = {name: getattr(self, name) + changes[name] for name in COUNTS & {*changes}}
        return replace(self, **(changes | added))
