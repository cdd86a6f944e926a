"""A short run on a street with one camera, in which everything is as it must be."""

from __future__ import annotations

from dataclasses import replace

from workshop.benchmarks.camera_faults.evidence import (
    AnsweredLook,
    Evidence,
    GateRequest,
    SinkEvent,
)
from workshop.benchmarks.camera_faults.report import Ending, Moments
from workshop.benchmarks.camera_faults.timetable import Sight, Street
from workshop.benchmarks.camera_faults.watching import Resources
from workshop.benchmarks.camera_faults.world import SINKS

STREET = Street(1, started_s=0.0, stays_s=(2.0,), pause_s=2.0)
"""A vehicle comes every four seconds, and stays for two."""
END_S = 40.0
MOMENTS = Moments(steady_s=1.0, broken_s=14.0, healed_s=22.0, back_s=22.0, end_s=END_S, told_s=43.0)
TEXTS = [Sight(0, number, 0).text for number in range(10)]
LOOKS = [
    AnsweredLook(look / 4, 0, sight.vehicle)
    for look in range(int(END_S * 4))
    for sight in [STREET.look(0, look / 4)]
]
HELD = Resources(descriptors=30, threads=12, memory_bytes=100 << 20, processes=2)
ENDING = Ending(status=0, seconds=1.0, before=HELD, after=HELD, is_told=True)


def make_events(number: int) -> list[SinkEvent]:
    """Return the events of one vehicle."""
    pass_facts = (f"pass{number}", TEXTS[number])
    return [
        SinkEvent(f"{number}-agreed", "pass.agreed", *pass_facts),
        SinkEvent(f"{number}-closed", "pass.closed", *pass_facts),
    ]


EVENTS = [event for number in range(10) for event in make_events(number)]
RIGHT = Evidence(
    looks=LOOKS,
    pass_counts=dict.fromkeys(TEXTS, 1),
    unclosed=frozenset(),
    sink_events=dict.fromkeys(SINKS, EVENTS),
    requests=[GateRequest(4.0 * number, TEXTS[number]) for number in range(0, 10, 2)],
    outcomes={},
)


def tell(sink: str, events: list[SinkEvent]) -> Evidence:
    """Return the run in which one sink got other events."""
    return replace(RIGHT, sink_events={**RIGHT.sink_events, sink: events})
