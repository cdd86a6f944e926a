"""`python -m orchestrator.control_room`: one process of the gateway, with the control room."""

from __future__ import annotations

from orchestrator.control_room.extension import open_control_room
from orchestrator.gateway.__main__ import main

if __name__ == "__main__":
    main(open_control_room)
