"""Secrets of sinks, which stand in the configuration or in environment variables."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.errors import SettingsError

FROM_ENVIRONMENT = "env:"


def resolve_secret(name: str, value: str, environ: Mapping[str, str]) -> str:
    """Return a secret; `env:NAME` takes the value of an environment variable.

    Raises:
        SettingsError: The variable is not set. The message does not contain any secret.
    """
    if not value.startswith(FROM_ENVIRONMENT):
        return value
    variable = value.removeprefix(FROM_ENVIRONMENT)
    if not environ.get(variable):
        raise SettingsError(f"{name}: wanted the environment variable {variable}, it is not set")
    return environ[variable]
