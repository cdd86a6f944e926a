"""Compares what became of the vehicles with what is promised for a fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from workshop.benchmarks.camera_faults.evidence import (
    AnsweredLook,
    Evidence,
    count_misplaced,
    count_repeated,
    count_several_ids,
    find_closed,
)
from workshop.benchmarks.camera_faults.report import CameraPromise, CameraRow, Ending, Moments
from workshop.benchmarks.camera_faults.timetable import Street
from workshop.benchmarks.camera_faults.watching import END_LIMIT_S
from workshop.benchmarks.camera_faults.world import LOOKS_PER_S, list_texts

MIN_LOOKS = 2
"""Numbers of looks after which a pass can be confirmed."""
LAST_S = 1.0
"""A process that is killed may take with it what it saw in its last second."""
LISTS_S = 1.5
"""A list is read every second."""
WINDOW_S, USUAL_SHARE = 3.0, 0.7
"""A camera is back when it has this share of its looks in this time."""
MAX_GAP_S = 3.0
"""Longest time without a look of a camera."""
MAX_DESCRIPTORS, MAX_THREADS, MAX_BYTES = 16, 12, 64 << 20
"""Growth that is no leak: connections of pools, threads of pools, and the memory of their work."""


@dataclass(frozen=True)
class PassingVehicle:
    """A vehicle that came and went between the start and the end of a run.

    Attributes:
        looks: Number of its frames that the service has answered, without those that a killed
            process may have taken with it.
        is_in_fault: It was there while the fault lasted or cameras were not back.
    """

    text: str
    looks: int
    is_in_fault: bool

    @property
    def must_be_told(self) -> bool:
        """True if enough of its frames were read."""
        return self.looks >= MIN_LOOKS


def find_passing(
    street: Street, looks: Sequence[AnsweredLook], moments: Moments, *, is_blind: bool
) -> list[PassingVehicle]:
    """Return the vehicles that count."""
    gone_from_s, gone_to_s = moments.broken_s - LAST_S, moments.healed_s
    look_counts = Counter(
        (look.camera, look.vehicle)
        for look in looks
        if not (is_blind and gone_from_s <= look.at_s <= gone_to_s)
    )
    back_s = moments.back_s or moments.end_s
    return [
        PassingVehicle(
            sight.text,
            look_counts[camera, sight.vehicle],
            start_s < back_s and until_s > gone_from_s,
        )
        for camera in range(street.cameras)
        for sight, start_s, until_s in street.vehicles(camera, moments.end_s)
        if start_s >= moments.steady_s and until_s < moments.end_s
    ]


def find_missing(vehicles: Sequence[PassingVehicle], evidence: Evidence) -> set[str]:
    """Return the texts that must be told, and are not stored or not told to every sink."""
    complete = {*evidence.pass_counts}.intersection(
        *(find_closed(evidence, sink) for sink in evidence.sink_events)
    )
    return {vehicle.text for vehicle in vehicles if vehicle.must_be_told} - complete


def is_all_told(vehicles: Sequence[PassingVehicle], evidence: Evidence) -> bool:
    """Tell whether no pass is missing, and all vehicles that have left have closed passes."""
    texts = {vehicle.text for vehicle in vehicles}
    return not find_missing(vehicles, evidence) and texts.isdisjoint(evidence.unclosed)


def describe_loss(text: str, evidence: Evidence) -> str:
    """Say where a vehicle is missing."""
    sinks = [sink for sink in evidence.sink_events if text not in find_closed(evidence, sink)]
    places = [*([] if text in evidence.pass_counts else ["the database"]), *sinks]
    return f"{text} is missing in {', '.join(places)}"


def find_back_s(
    looks: Sequence[AnsweredLook], cameras: int, since_s: float, now_s: float
) -> float | None:
    """Return the moment from which all cameras had their rate; None while they have not."""
    least = USUAL_SHARE * WINDOW_S * LOOKS_PER_S
    backs = []
    for camera in range(cameras):
        times = [look.at_s for look in looks if look.camera == camera and look.at_s >= since_s]
        full = (
            at_s
            for at_s in times
            if at_s + WINDOW_S <= now_s
            and sum(at_s <= other <= at_s + WINDOW_S for other in times) >= least
        )
        backs.append(next(full, None))
    moments_s = [second for second in backs if second is not None]
    return max(moments_s) if len(moments_s) == cameras else None


def find_gap_s(looks: Sequence[AnsweredLook], cameras: int, from_s: float, until_s: float) -> float:
    """Return the longest time without a look of a camera."""
    longest_s = 0.0
    for camera in range(cameras):
        times = [
            look.at_s for look in looks if look.camera == camera and from_s < look.at_s < until_s
        ]
        edges = [from_s, *times, until_s]
        longest_s = max(longest_s, *(after_s - before_s for before_s, after_s in pairwise(edges)))
    return longest_s


def count_wrong_openings(evidence: Evidence, unlisted_s: float | None) -> int:
    """Return how many requests the relay got for a plate off the list, or again for one pass."""
    listed_texts, times = {*list_texts()}, Counter(request.text for request in evidence.requests)
    strangers = sum(
        request.text not in listed_texts
        or (unlisted_s is not None and request.at_s > unlisted_s + LISTS_S)
        for request in evidence.requests
    )
    again = sum(times[text] - max(1, evidence.pass_counts.get(text, 0)) for text in times)
    return strangers + max(0, again)


def count_unopened(vehicles: Sequence[PassingVehicle], evidence: Evidence) -> int:
    """Return the number of vehicles on the list for which nobody asked the relay."""
    requested_texts = {request.text for request in evidence.requests}
    waiting_texts = {vehicle.text for vehicle in vehicles if vehicle.must_be_told} - requested_texts
    return len(waiting_texts.intersection(list_texts()))


def find_broken(
    row: CameraRow, promise: CameraPromise, evidence: Evidence, ending: Ending
) -> Iterator[str]:
    """Yield a description of each broken part of the promise."""
    yield from ending.failures
    if row.unseen and not promise.is_blind:
        yield f"{row.unseen} vehicles not seen"
    if row.lost:
        yield f"{row.lost} vehicles lost"
    if row.doubled:
        yield f"{row.doubled} vehicles told twice"
    if several := count_several_ids(evidence):
        yield f"{several} events under several ids"
    if misplaced := count_misplaced(evidence):
        yield f"{misplaced} events after their pass had ended"
    if row.wrong_openings:
        yield f"{row.wrong_openings} requests to the relay too many"
    if evidence.unclosed:
        yield f"{len(evidence.unclosed)} passes not closed"
    yield from _find_slowness(row, promise)
    if not ending.is_told:
        yield "nothing in the log or the metrics tells of it"
    if ending.status != promise.status:
        yield f"exit status {ending.status}"
    if ending.seconds > END_LIMIT_S:
        yield f"ended {ending.seconds:.1f} s after SIGTERM"
    yield from _find_growth(ending)


def _find_slowness(row: CameraRow, promise: CameraPromise) -> Iterator[str]:
    if not promise.is_blind and row.gap_s > MAX_GAP_S:
        yield f"{row.gap_s:.1f} s without a look"
    if row.back_s is None:
        yield "the cameras did not come back"
    elif row.back_s > promise.recover_s:
        yield f"the cameras came back after {row.back_s:.1f} s"


def _find_growth(ending: Ending) -> Iterator[str]:
    before, after = ending.before, ending.after
    if before is None or after is None:
        return
    if after.descriptors > before.descriptors + MAX_DESCRIPTORS:
        yield f"{after.descriptors} descriptors, {before.descriptors} before"
    if after.threads > before.threads + MAX_THREADS:
        yield f"{after.threads} threads, {before.threads} before"
    if after.memory_bytes > before.memory_bytes + MAX_BYTES:
        grown = (after.memory_bytes - before.memory_bytes) >> 20
        yield f"{grown} MB of memory more"
    if after.processes != before.processes:
        yield f"{after.processes} processes, {before.processes} before"


def judge(
    title: tuple[str, str],
    street: Street,
    moments: Moments,
    evidence: Evidence,
    *,
    ending: Ending,
    promise: CameraPromise,
    unlisted_s: float | None,
) -> CameraRow:
    """Return the row of a fault, with its name and title."""
    vehicles = find_passing(street, evidence.looks, moments, is_blind=promise.is_blind)
    missing_texts = sorted(find_missing(vehicles, evidence))
    doubled_texts = [text for text, number in evidence.pass_counts.items() if number > 1]
    allowed_texts = {
        vehicle.text for vehicle in vehicles if promise.is_blind and vehicle.is_in_fault
    }
    unopened = count_unopened(vehicles, evidence)
    row = CameraRow(
        *title,
        vehicles=len(vehicles),
        unseen=sum(not vehicle.must_be_told for vehicle in vehicles),
        lost=len(missing_texts),
        doubled=len({*doubled_texts} - allowed_texts),
        repeated=count_repeated(evidence),
        wrong_openings=count_wrong_openings(evidence, unlisted_s),
        gap_s=find_gap_s(evidence.looks, street.cameras, moments.broken_s, moments.end_s),
        back_s=moments.back_s and max(0.0, moments.back_s - moments.healed_s),
        told_s=moments.told_s and moments.told_s - moments.end_s,
        end_s=ending.seconds,
    )
    broken = [*find_broken(row, promise, evidence, ending)]
    if unopened and not (promise.may_not_open or promise.is_blind):
        broken.append(f"the gate stayed shut for {unopened} vehicles")
    notes = [describe_loss(text, evidence) for text in missing_texts]
    notes += [f"several passes: {', '.join(doubled_texts)}"] if doubled_texts else []
    notes += [f"not opened: {unopened}"] if unopened else []
    return replace(row, broken=tuple(broken), notes=tuple(notes))
