"""The types of gates, and the relays that they make."""

from __future__ import annotations

import os
from collections.abc import Mapping

from orchestrator.errors import PlateError, SettingsError
from plate_cameras.gate_settings import Gate
from plate_cameras.gates.relay import Relay


def make_relay(gate: Gate, environ: Mapping[str, str] = os.environ) -> Relay:
    """Make the relay of a gate. Nothing is sent yet.

    Raises:
        SettingsError: Its settings are wrong.
        ExtraError: A package of the group `gates` is missing.
    """
    try:
        return _make(gate, environ)
    except PlateError:
        raise
    except Exception as error:  # a value that a library rejects
        reason = f"{type(error).__name__}: {error}"
        raise SettingsError(
            f"gate {gate.name}: wanted settings of a relay, got {reason}"
        ) from error


def _make(gate: Gate, environ: Mapping[str, str]) -> Relay:
    if gate.type == "http":
        from plate_cameras.gates.http_relay import HttpRelay

        return HttpRelay(gate, environ)
    if gate.type == "modbus":
        from plate_cameras.gates.modbus_relay import ModbusRelay

        return ModbusRelay(gate, environ)
    from plate_cameras.gates.onvif_relay import OnvifRelay

    return OnvifRelay(gate, environ)
