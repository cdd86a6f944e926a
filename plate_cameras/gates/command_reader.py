"""Takes people's commands from the store, and hands them to their gates."""

from __future__ import annotations

import asyncio

from plate_cameras.background_tasks import make_note
from plate_cameras.gates.controller import GateController
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.store.openings.gate_commands import GateCommands

POLL_S = 0.5


async def follow_commands(commands: GateCommands, controller: GateController) -> None:
    """Take commands until the task is cancelled. Without a database there are none."""
    note = make_note("gates get no commands of people")
    while True:
        await asyncio.sleep(POLL_S)
        names = [status.name for status in controller.statuses]
        try:
            taken = await asyncio.to_thread(commands.take, names, to_sentence("late"))
        except Exception as error:  # whatever it is, the next round may succeed
            note(error)
            continue
        note(None)
        for command in taken:
            controller.open(command)
