"""The relay of a gate: its types and options, what each can do, and whether it is there."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from orchestrator.errors import ExtraError, PlateError, SettingsError
from orchestrator.host.text_lines import to_line
from orchestrator.host.toml_files import show, show_name
from plate_cameras.clocks import complete_within
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.gates.status import GateStatus
from plate_cameras.passes import Pass
from plate_cameras.secret_settings import resolve_secret
from plate_cameras.setting_parts import Gate
from plate_cameras.store.lists.list_lookup import ListHit

FLAGS = {"yes": True, "no": False}


def check_options(gate: Gate, names: Sequence[str], *, prefix: str | None = None) -> None:
    """Reject options that a type of relay does not have.

    Raises:
        SettingsError: An option has none of the names and does not begin with the prefix.
    """
    for option in gate.options:
        if option not in names and not (prefix and option.startswith(prefix)):
            options = ", ".join([*names, *([f"{prefix}NAME"] if prefix else [])])
            raise SettingsError(
                f"gate {gate.name}: options: wanted some of {options}, got {show_name(option)}"
            )


def read_option(gate: Gate, name: str, environ: Mapping[str, str]) -> str:
    """Return an option; `env:NAME` takes the value of an environment variable.

    Raises:
        SettingsError: The variable is not set.
    """
    return resolve_secret(f"gate {gate.name}: {name}", gate.options.get(name, ""), environ)


def read_flag(gate: Gate, name: str, *, default: bool) -> bool:
    """Return an option that is `yes` or `no`.

    Raises:
        SettingsError: It is something else.
    """
    value = gate.options.get(name)
    if value is None:
        return default
    if value not in FLAGS:
        raise SettingsError(f"gate {gate.name}: {name}: wanted yes or no, got {show(value)}")
    return FLAGS[value]


def read_number(gate: Gate, name: str, *, default: int, max_value: int) -> int:
    """Return an option that is a whole number from 0 on.

    Raises:
        SettingsError: It is something else.
    """
    value = gate.options.get(name, str(default))
    if not (value.isascii() and value.isdecimal()) or int(value) > max_value:
        raise SettingsError(f"gate {gate.name}: {name}: wanted 0 to {max_value}, got {show(value)}")
    return int(value)


def import_extra(gate: Gate, module: str) -> Any:
    """Import a module that the type of a gate needs.

    The loggers of the process stay as they are: `onvif` configures them when it is imported.

    Raises:
        ExtraError: It is not installed.
    """
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    try:
        return import_module(module)
    except ImportError as error:
        raise ExtraError(
            f"gate {gate.name}: type {gate.type} needs a package that `make cameras` installs"
        ) from error
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


class RelayError(PlateError):
    """A relay has not confirmed a request. It may have done it all the same.

    So a request to open is not sent again after it.

    Args:
        message: The reason. A device's own texts may be in it, so it becomes one short line.
    """

    def __init__(self, message: str) -> None:
        super().__init__(to_line(message))


class NotSwitchedError(RelayError):
    """A relay has certainly not switched: no request has reached it, or it has rejected it."""


@dataclass(frozen=True)
class OpeningRequest:
    """A vehicle for which a gate is to open.

    Attributes:
        readable_s: Steady time from which the delay counts, see `GateOpening`; None if it is not
            known.
        person: Name of the person who opens it; empty if it opens for a list.
        command_id: Id of the person's command.
        taken_s: Steady time at which the command was taken.
    """

    gate: str
    camera: str = ""
    pass_id: str = ""
    text: str = ""
    list: str = ""
    entry_text: str = ""
    readable_s: float | None = None
    person: str = ""
    command_id: str = ""
    taken_s: float = 0.0

    @classmethod
    def of(
        cls, gate: Gate, vehicle_pass: Pass, hit: ListHit, readable_s: float | None
    ) -> OpeningRequest:
        """Return the request for a vehicle whose plate matches an entry."""
        return cls(
            gate=gate.name,
            camera=vehicle_pass.camera,
            pass_id=vehicle_pass.id,
            text=vehicle_pass.text,
            list=hit.list,
            entry_text=hit.entry.text,
            readable_s=readable_s,
        )

    @property
    def key(self) -> str:
        """The command, or the pass."""
        return self.command_id or self.pass_id


class Relay(Protocol):
    """Switches the relay of one gate. Calls may be cancelled at any time.

    Each call has deadlines of its own, and raises nothing but the errors that it names.
    """

    @property
    def needs_off(self) -> bool:
        """True if the relay stays on until it is switched off."""

    async def prepare(self) -> None:
        """Connect, and find out whether the relay is there. Called now and then.

        Raises:
            RelayError: It is not.
        """

    async def switch_on(self, request: OpeningRequest) -> None:
        """Open the gate; return when the relay has confirmed it.

        Raises:
            NotSwitchedError: The gate has certainly not opened.
            RelayError: It may have opened.
        """

    async def switch_off(self) -> None:
        """End the pulse. It may be called again after a failure.

        Raises:
            RelayError: The relay refuses, or does not answer.
        """

    async def close(self) -> None:
        """Close the connections."""


def describe(error: Exception) -> str:
    """Return a failure as a sentence; of a foreign error only its kind, which has no secret."""
    if isinstance(error, asyncio.TimeoutError):
        return to_sentence("silent")
    return str(error) if isinstance(error, RelayError) else type(error).__name__


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


LOG = logging.getLogger(__name__)
PREPARE_EVERY_S, PREPARE_S = 15.0, 30.0
"""How often a relay is asked whether it is there, and the longest wait for it. The first connection
to an ONVIF device reads its description, which takes seconds on a slow machine."""


async def watch_relay(relay: Relay, status: GateStatus) -> None:
    """Note in a gate's status whether its relay is there, until this task is cancelled."""
    while True:
        try:
            await complete_within(relay.prepare(), PREPARE_S)
            status.absence = ""
        except Exception as error:  # whatever it is, the relay is not there
            absence = describe(error)
            if absence != status.absence:
                LOG.error("gate %s: %s", status.name, absence)
            status.absence = absence
        await asyncio.sleep(PREPARE_EVERY_S)
