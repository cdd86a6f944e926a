"""Events that the supervisor of Triton sends to a running gateway: one line of JSON each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import build


@dataclass(frozen=True)
class TritonMoved:
    """The event that another Triton has taken over. `GatewayOptions` describes the attributes."""

    triton_http: str
    triton_grpc: str
    triton_metrics: str


@dataclass(frozen=True)
class WorkerDied:
    """The event that a worker of Triton died, or was killed because it hung.

    Attributes:
        model: Name of the worker's model.
        reason: A signal, an exit status, or the time for which it hung.
        suspects: Ids, as Triton got them, of the calls that may have caused it.
        is_last: The model has no other worker that answers.
        is_counted: The process that gets this event counts it. One of several processes does.
    """

    model: str
    reason: str
    suspects: tuple[str, ...] = ()
    is_last: bool = False
    is_counted: bool = True


@dataclass(frozen=True)
class WorkersReplaced:
    """The event that a model has new workers in place of those that died.

    Attributes:
        model: Name of the model.
    """

    model: str


@dataclass(frozen=True)
class Ping:
    """The event that nothing happened. A process that does not read it hangs."""


Event = TritonMoved | WorkerDied | WorkersReplaced | Ping
EVENTS: dict[str, type[Event]] = {
    "moved": TritonMoved,
    "died": WorkerDied,
    "renewed": WorkersReplaced,
    "ping": Ping,
}


def event_to_json(event: Event) -> str:
    """Write an event as one line of JSON."""
    kinds = {kind: name for name, kind in EVENTS.items()}
    return json.dumps({"event": kinds[type(event)], **asdict(event)})


def event_from_json(text: str) -> Event:
    """Read an event that `event_to_json` wrote.

    Raises:
        SettingsError: The text is no such event.
    """
    try:
        table = json.loads(text)
        kind = EVENTS[table.pop("event")]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise SettingsError(f"gateway event: wanted JSON of one, got {text[:200]!r}") from error
    return build(kind, table)
