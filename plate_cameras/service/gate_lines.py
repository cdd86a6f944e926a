"""Records of gates as lines for people."""

from __future__ import annotations

from orchestrator.cli.recognition.plate_table import to_printable
from plate_cameras.store.openings.gate_openings import GateOpening


def format_opening(opening: GateOpening) -> str:
    """Return the gate, the plate with its list, and the outcome with its reason."""
    plate = f"{opening.text} ({to_printable(opening.list)})" if opening.text else "a person"
    reason = f": {to_printable(opening.reason)}" if opening.reason else ""
    delay = "" if opening.delay_s is None else f", {opening.delay_s:.1f} s"
    return f"gate {to_printable(opening.gate)}: {opening.outcome} for {plate}{delay}{reason}"
