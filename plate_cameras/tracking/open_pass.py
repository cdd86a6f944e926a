"""A pass whose vehicle is still there: its motion, readings, zones and crossings.

All times are moments, see `Frame.moment_s`. Only `OpenPass.describe` makes Unix times of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from orchestrator.formats.plate_formats import Formats
from plate_cameras.configuration import Camera, Line
from plate_cameras.frames import Clock
from plate_cameras.passes import Direction, LineCrossing, Observation, Pass, Progress
from plate_cameras.tracking.fusion import FusedText, fuse
from plate_cameras.tracking.looks import Look, best_text
from plate_cameras.tracking.motion_model import Motion
from plate_cameras.tracking.plate_pixels import PlatePixels
from plate_cameras.tracking.retention import BestFrames, thin_out
from plate_cameras.tracking.road_speed import road_speed_of
from plate_cameras.tracking.trends import direction_of, speed_of, stands
from plate_cameras.tracking.zones import find_zones, meets, side_of

FIRM_WIDTHS = 0.2
"""Distance from a line, in plate widths, from which the side of a plate is certain."""
MAX_CROSSINGS = 32
"""Largest number of crossings that are kept of a pass, the newest: a vehicle may shunt all day."""


@dataclass(frozen=True)
class LastLook:
    """Shape of the last look at a plate, see `Look`; the frame itself is not kept."""

    shape: float
    is_cut: bool


@dataclass(eq=False)
class OpenPass:
    """A pass whose vehicle is still there.

    Attributes:
        motion: Its motion up to the last look.
        last_look: The shape with which the next look is compared.
        clock: The clock of its Unix times.
        offset_s: Unix time minus moment of its first frame. All its Unix times follow from it, so
            that no step of a clock changes the order or the distance of its times.
        first_seen_s: Moment of its first frame. It does not change after the first event.
        missed_s: Time of the frames since the last look that did not show it.
        is_doubtful: True if it began where another pass was expected and not seen: its text may be
            a misreading of that vehicle's plate.
        is_told: True if its event `agreed` was made.
        told_state: The text and state in the last event.
    """

    id: str
    motion: Motion
    last_look: LastLook
    clock: Clock
    offset_s: float
    first_seen_s: float
    observations: list[Observation] = field(default_factory=list)
    fusion: FusedText = field(default_factory=FusedText)
    frames: BestFrames = field(default_factory=BestFrames)
    looks: int = 0
    missed_s: float = 0.0
    missed_frames: int = 0
    is_doubtful: bool = False
    zones: tuple[str, ...] = ()
    crossings: tuple[LineCrossing, ...] = ()
    is_told: bool = False
    told_state: tuple[object, ...] = ()
    agreed_text: str = ""
    direction: Direction = ""
    _sides: dict[Line, tuple[str, tuple[float, float]]] = field(default_factory=dict)

    @classmethod
    def start(cls, pass_id: str, look: Look, camera: Camera) -> OpenPass:
        """Return a pass that was seen once."""
        motion = Motion.start(look)
        frame = look.frame
        open_pass = cls(
            pass_id,
            motion,
            LastLook(look.shape, look.is_cut),
            frame.clock,
            frame.time_s - frame.moment_s,
            frame.moment_s,
        )
        open_pass._keep(look, motion, camera)
        return open_pass

    @property
    def last_seen_s(self) -> float:
        return self.observations[-1].time_s

    @property
    def is_standing(self) -> bool:
        return stands(self.observations)

    @property
    def agreements(self) -> int:
        """Number of the kept observations whose own reading is the text of the pass."""
        return sum(
            best_text(observation.plate)[0] == self.fusion.text for observation in self.observations
        )

    def add(self, look: Look, camera: Camera, max_s: float) -> None:
        """Add a look; its motion is predicted for at most `max_s`."""
        prediction = self.motion.predict(look.observation.time_s, max_s)
        self._keep(look, prediction.correct(look), camera)

    def miss(self, elapsed_s: float) -> None:
        """Count a frame that does not show the plate."""
        self.missed_s += elapsed_s
        self.missed_frames += 1

    @property
    def state(self) -> tuple[object, ...]:
        """The parts whose changes make an event, except the text."""
        return self.zones, self.crossings, self.direction, self.agreed_text

    def settle(self, shown_text: str, *, is_agreed: bool) -> None:
        """Note the direction, and the text if frames agree on it now.

        A direction that is not known any more, and a text whose score falls, change nothing. After
        another text, frames must agree anew.
        """
        self.direction = direction_of(self.observations) or self.direction
        if is_agreed or shown_text != self.agreed_text:
            self.agreed_text = shown_text if is_agreed else ""

    def add_reading(self, observation: Observation) -> None:
        """Add a reading of the last look's plate that is not the service's."""
        self._fuse([*self.observations, observation])

    def absorb(self, other: OpenPass) -> None:
        """Take over the looks of another pass that was the same vehicle."""
        if other.last_seen_s > self.last_seen_s:
            self.motion, self.last_look = other.motion, other.last_look
            self._sides = other._sides
            self.missed_s, self.missed_frames = other.missed_s, other.missed_frames
        if not self.is_told and other.first_seen_s < self.first_seen_s:
            self.first_seen_s, self.offset_s = other.first_seen_s, other.offset_s
        both = sorted(
            [*self.observations, *other.observations], key=lambda observation: observation.time_s
        )
        self.looks += other.looks
        self.zones += tuple(zone for zone in other.zones if zone not in self.zones)
        self.crossings = tuple(
            sorted([*self.crossings, *other.crossings], key=lambda crossing: crossing.time_s)
        )[-MAX_CROSSINGS:]
        self.frames.absorb(other.frames, [text for text, _ in self.fusion.candidates])
        self._fuse(both)

    def describe(
        self, camera: Camera, formats: Formats, pixels: PlatePixels, progress: Progress
    ) -> Pass:
        """Return the pass as it is known now."""
        text = self.shown_text(camera)
        weights = dict(zip(map(id, self.observations), self.fusion.weights, strict=True))

        def convert(observation: Observation) -> Observation:
            weight = weights.get(id(observation), 0.0)
            return replace(observation, time_s=self._unix_s(observation.time_s), weight=weight)

        best = self.frames.best(self.fusion.text, pixels)
        road_speed = road_speed_of(self.observations, best.size_wh, camera.view_angle_deg)
        return Pass(
            id=self.id,
            camera=camera.name,
            progress=progress,
            first_seen_s=self._unix_s(self.first_seen_s),
            last_seen_s=self._unix_s(self.last_seen_s),
            clock=self.clock,
            text=text,
            text_score=self.fusion.score,
            format=self._format_of(text, formats),
            candidates=self.fusion.candidates,
            direction=direction_of(self.observations) or self.direction,
            crossings=tuple(
                replace(crossing, time_s=self._unix_s(crossing.time_s))
                for crossing in self.crossings
            ),
            speed_widths_s=speed_of(self.observations),
            zones=self.zones,
            observations=tuple(map(convert, self.observations)),
            best=replace(best, observation=convert(best.observation)),
            last_moment_s=self.last_seen_s,
            speed_kmh=road_speed.kmh if road_speed else None,
            speed_error_kmh=road_speed.error_kmh if road_speed else None,
        )

    def shown_text(self, camera: Camera) -> str:
        """Return the text if its probability reaches the camera's threshold, else `""`."""
        return self.fusion.text if self.fusion.score >= camera.text_threshold else ""

    def _unix_s(self, moment_s: float) -> float:
        return moment_s + self.offset_s

    def _keep(self, look: Look, motion: Motion, camera: Camera) -> None:
        self.motion, self.last_look = motion, LastLook(look.shape, look.is_cut)
        self.looks += 1
        self.missed_s, self.missed_frames = 0.0, 0
        self.zones += tuple(
            zone for zone in find_zones(camera, look.point) if zone not in self.zones
        )
        self._cross(look, camera)
        self.frames.add(look, [text for text, _ in self.fusion.candidates])
        self._fuse([*self.observations, look.observation])

    def _fuse(self, observations: list[Observation]) -> None:
        best = self.frames.observation(self.fusion.text)
        self.observations = thin_out(observations, best)
        self.fusion = fuse(self.observations)

    def _cross(self, look: Look, camera: Camera) -> None:
        for line in camera.lines:
            side, distance = side_of(line, look.point)
            if distance < FIRM_WIDTHS * look.size:
                continue
            last_side = self._sides.get(line)
            self._sides[line] = side, look.point
            if last_side and last_side[0] != side and meets(line, last_side[1], look.point):
                crossing = LineCrossing(line.name, side, look.observation.time_s)
                self.crossings = (*self.crossings, crossing)[-MAX_CROSSINGS:]

    def _format_of(self, text: str, formats: Formats) -> str:
        """Return the format that the service named for the text, else the first that fits."""
        if not text:
            return ""
        named_formats = (
            observation.plate.format
            for observation in self.observations
            if observation.plate.text == text
        )
        fitting_formats = (formats.format_of(text, lines) for lines in (1, 2))
        return next((name for name in (*named_formats, *fitting_formats) if name), "")
