"""Conditions of gates, sinks and sites that cannot be met, such as a zone whose name is misspelt.

Zones and lines may be drawn later, and lists made. So a file with such conditions is accepted, and
people are warned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from plate_cameras.configuration import Camera, Configuration, Gate, Sink, Site
from plate_cameras.message_forms import is_sent

SENTENCES: Mapping[str, str] = {
    "zone": "none of its cameras has the zone {name}",
    "line": "none of its cameras has the line {name}",
    "zones": "the camera {name} has none of its zones, and opens nothing",
    "lines": "the camera {name} has none of its lines, and opens nothing",
    "direction": "the camera {name} sends single pictures, which seldom show a direction",
    "list": "there is no list {name}",
}
"""Sentences by their codes."""


@dataclass(frozen=True)
class UnmetCondition:
    """A condition that cannot be met as cameras and lists are now.

    Attributes:
        code: One of `SENTENCES`.
        name: Name of the zone, line, camera or list.
    """

    code: str
    name: str

    @property
    def sentence(self) -> str:
        return SENTENCES[self.code].format(name=self.name)


def find_unmet(part: Gate | Sink, cameras: Iterable[Camera]) -> list[UnmetCondition]:
    """Return the conditions of a gate or sink that its cameras cannot meet.

    Args:
        part: The gate or sink.
        cameras: All cameras, with the areas that hold now.
    """
    own = [camera for camera in cameras if not part.cameras or camera.name in part.cameras]
    zones = {camera.name: {zone.name for zone in camera.zones} for camera in own}
    sending = [UnmetCondition("direction", camera.name) for camera in own if is_sent(camera.url)]
    has_direction = not part.direction or len(sending) < len(own)
    if isinstance(part, Sink):  # it may have cameras without its zones
        return _find_unknown("zone", part.zones, zones) + ([] if has_direction else sending)
    lines = {camera.name: {line.name for line in camera.lines} for camera in own}
    return [
        *_find_unknown("zone", part.zones, zones),
        *_find_without("zones", part.zones, zones),
        *_find_unknown("line", part.lines, lines),
        *_find_without("lines", part.lines, lines),
        *(sending if part.direction else []),
    ]


def find_missing_lists(part: Gate | Sink, names: Collection[str]) -> list[UnmetCondition]:
    """Return the lists of a gate or sink that are not among some names."""
    blocked_lists = part.blocked_lists if isinstance(part, Gate) else ()
    wanted_names = dict.fromkeys((*part.lists, *blocked_lists))
    return [UnmetCondition("list", name) for name in wanted_names if name not in names]


def describe_unmet(configuration: Configuration, lists: Collection[str] | None = None) -> list[str]:
    """Return a sentence for each condition that cannot be met, with its owner.

    Args:
        configuration: The configuration, with the areas that hold now.
        lists: Names of all lists; None if they are not known. The gates tell of theirs.
    """
    cameras, unmet = configuration.cameras, list[tuple[str, UnmetCondition]]()
    for gate in configuration.gates:
        unmet += [(f"gate {gate.name}", condition) for condition in find_unmet(gate, cameras)]
    for sink in configuration.sinks:
        conditions = find_unmet(sink, cameras)
        conditions += [] if lists is None else find_missing_lists(sink, lists)
        unmet += [(f"sink {sink.name}", condition) for condition in conditions]
    for site in configuration.sites:
        unmet += [(f"site {site.name}", condition) for condition in _find_undirected(site, cameras)]
    return [f"{owner}: {condition.sentence}" for owner, condition in unmet]


def _find_undirected(site: Site, cameras: Iterable[Camera]) -> list[UnmetCondition]:
    """Return the cameras of which a site needs a direction that they seldom show."""
    both_ways = {*site.entries} & {*site.exits}
    return [
        UnmetCondition("direction", camera.name)
        for camera in cameras
        if camera.name in both_ways and is_sent(camera.url)
    ]


def _find_unknown(
    code: str, names: Sequence[str], names_by_camera: Mapping[str, Collection[str]]
) -> list[UnmetCondition]:
    """Return the names that no camera has."""
    known_names = {name for own_names in names_by_camera.values() for name in own_names}
    return [UnmetCondition(code, name) for name in names if name not in known_names]


def _find_without(
    code: str, names: Sequence[str], names_by_camera: Mapping[str, Collection[str]]
) -> list[UnmetCondition]:
    """Return the cameras that have none of the names, if another one has any."""
    without = [
        camera for camera, own_names in names_by_camera.items() if {*names}.isdisjoint(own_names)
    ]
    is_general = not names or len(without) == len(names_by_camera)
    return [] if is_general else [UnmetCondition(code, camera) for camera in without]
