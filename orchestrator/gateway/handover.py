"""What the gateway's process reads from its standard input: its options, then what happens.

Each is one line of JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from orchestrator.errors import SettingsError
from orchestrator.gateway.options import GatewayOptions
from orchestrator.toml_files import build


@dataclass(frozen=True)
class Moved:
    """Another Triton has taken over; see `GatewayOptions` for what each is."""

    triton_http: str
    triton_grpc: str
    triton_metrics: str


@dataclass(frozen=True)
class Died:
    """A worker of Triton died, or was killed because it hung.

    Attributes:
        model: Whose worker it was.
        how: A signal, an exit status, or how it hung.
        calls: Ids, as Triton got them, of those that may be to blame.
        is_last: Nobody answers for the model until it has another.
        is_counted: By whom is told; one of several processes counts.
    """

    model: str
    how: str
    calls: tuple[str, ...] = ()
    is_last: bool = False
    is_counted: bool = True


@dataclass(frozen=True)
class Renewed:
    """A model has new workers in the place of those that died.

    Attributes:
        model: Its name.
    """

    model: str


Event = Moved | Died | Renewed
EVENTS: dict[str, type[Event]] = {"moved": Moved, "died": Died, "renewed": Renewed}


def to_json(options: GatewayOptions) -> str:
    """Write options as one line of JSON."""
    return json.dumps(asdict(options), default=str)


def event_to_json(event: Event) -> str:
    """Write an event as one line of JSON."""
    return json.dumps({"event": type(event).__name__.lower(), **asdict(event)})


def event_from_json(text: str) -> Event:
    """Read what `event_to_json` wrote.

    Raises:
        SettingsError: It is something else.
    """
    try:
        table = json.loads(text)
        kind = EVENTS[table.pop("event")]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise SettingsError(f"gateway event: wanted JSON of one, got {text[:200]!r}") from error
    return build(kind, table)


def from_json(text: str) -> GatewayOptions:
    """Read what `to_json` wrote.

    Raises:
        SettingsError: It is no JSON, or none of these options.
    """
    try:
        table = json.loads(text)
    except json.JSONDecodeError as error:
        raise SettingsError(f"gateway options: wanted JSON, got {error}") from error
    return build(GatewayOptions, table)
