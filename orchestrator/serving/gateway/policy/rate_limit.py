"""Rate limit: calls a second of each client, by token buckets."""

from __future__ import annotations

from orchestrator.serving.gateway.errors import QuotaExceeded
from orchestrator.serving.gateway.policy.clients import Client

MIN_ENTRIES_TO_SWEEP = 1000


class RateLimit:
    """The token buckets of all clients. Each is stored as the time when it is full again.

    A bucket holds the calls of one second, but at least one call.
    """

    def __init__(self) -> None:
        self._full_at: dict[str, float] = {}
        self._sweep_at = MIN_ENTRIES_TO_SWEEP

    def __len__(self) -> int:
        return len(self._full_at)

    def check(self, client: Client, now: float) -> None:
        """Check that a client may make its next call now.

        Raises:
            QuotaExceeded: The client has used up its rate.
        """
        missing_s = max(0.0, self._full_at.get(client.name, now) - now)
        early_s = missing_s + 1 / client.rate - max(1.0, 1 / client.rate)
        if early_s > 1e-6:  # sums of many parts are not exact
            raise QuotaExceeded(
                f"calls a second: wanted at most {client.rate:g}, got more", early_s
            )

    def take(self, client: Client, now: float, calls: float = 1.0) -> None:
        """Count calls of a client. Drop full buckets whenever their number may have doubled."""
        if len(self._full_at) >= self._sweep_at:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
            self._sweep_at = max(MIN_ENTRIES_TO_SWEEP, 2 * len(self._full_at))
        full_at = max(self._full_at.get(client.name, now), now)
        self._full_at[client.name] = full_at + calls / client.rate
