"""The gateway's options as a text that its process reads from its standard input."""

from __future__ import annotations

import json
from dataclasses import asdict

from orchestrator.errors import SettingsError
from orchestrator.gateway.options import GatewayOptions
from orchestrator.toml_files import build


def to_json(options: GatewayOptions) -> str:
    """Write options as one line of JSON."""
    return json.dumps(asdict(options), default=str)


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
