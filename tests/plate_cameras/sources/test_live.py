"""The frequency of looks at a live stream, independent of its clocks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plate_cameras.configuration import Camera
from plate_cameras.sources import live
from plate_cameras.sources.live import FreezeDetector, LivePlayback
from plate_cameras.sources.looks import Look
from plate_cameras.sources.network.failures import SourceError
from plate_cameras.sources.status import Limits, Progress

WALL, STEADY = 1_800_000_000.0, 5000.0
RATE, LOOKS_PER_S = 25, 4
NOISE = np.random.default_rng(7).integers(0, 255, (60, 135, 240), dtype=np.uint8)


@dataclass(frozen=True)
class Arrival:
    """A packet, and the clocks at its arrival.

    Attributes:
        pts_s: Its time stamp.
        wall_s: Step of the wall clock before the packet, seconds.
        realtime_s: Unix time of the time stamp 0 by the camera.
        steady_s: Delay of the packet, seconds.
    """

    pts_s: float | None
    wall_s: float = 0.0
    realtime_s: float | None = None
    steady_s: float = 0.0


@dataclass
class Stamped:
    """A packet, and the frame that it becomes."""

    pts: float | None
    time_base: Fraction = Fraction(1)
    size: int = 5000
    is_keyframe: bool = True


class EveryFrame:
    """A decoder whose packets are frames."""

    def __init__(self, *_: object) -> None:
        """Do nothing: no codec is needed."""

    def take(self, packet: Stamped, now_s: float, *, moves: bool) -> list[Stamped]:
        del now_s, moves
        return [packet]


class Flicker:
    """A motion detector whose pictures always differ from the previous one."""

    def __init__(self) -> None:
        self._count = 0

    def convert(self, frame: Stamped) -> np.ndarray:
        del frame
        self._count += 1
        return NOISE[self._count % len(NOISE)]


@dataclass
class MovingScene:
    """A stream with constant motion, 25 packets a second by a clock that is never set."""

    clock: SimpleNamespace = field(
        default_factory=lambda: SimpleNamespace(wall=WALL, steady=STEADY)
    )
    capture: SimpleNamespace = field(
        default_factory=lambda: SimpleNamespace(has_times=True, realtime_s=None, flush=lambda: None)
    )
    looks: list[tuple[float, Look]] = field(default_factory=list)

    def play(self, arrivals: Iterable[Arrival], monkeypatch: pytest.MonkeyPatch) -> None:
        """Play packets; return each look that is due, with its steady time."""
        monkeypatch.setattr(live, "unix_s", lambda: self.clock.wall)
        monkeypatch.setattr(live, "steady_s", lambda: self.clock.steady)
        monkeypatch.setattr(live, "LumaConverter", Flicker)
        monkeypatch.setattr(live, "SelectiveDecoder", EveryFrame)
        playback = LivePlayback(
            self.capture, Camera("gate", "rtsp://cam", looks_per_s=LOOKS_PER_S), Limits(),
            slot=self, progress=Progress(),
        )  # fmt: skip
        self.capture.packets = lambda: self._arrive(arrivals)
        playback.run(lambda: True)

    def offer(self, look: Look, *, is_due: bool) -> None:
        self.looks += [(self.clock.steady, look)] if is_due else []

    def _arrive(self, arrivals: Iterable[Arrival]) -> Iterable[Stamped]:
        for arrival in arrivals:
            self.clock.steady += 1 / RATE + arrival.steady_s
            self.clock.wall += 1 / RATE + arrival.steady_s + arrival.wall_s
            self.capture.realtime_s = arrival.realtime_s
            yield Stamped(arrival.pts_s)

    @property
    def moments(self) -> list[float]:
        return [look.steady_s for _, look in self.looks if look.steady_s is not None]

    def least_and_most(self, window_s: float) -> tuple[int, int]:
        """Return the smallest and largest number of looks in any window that ends with a packet."""
        at = np.array([at_s for at_s, _ in self.looks])
        ends = np.arange(STEADY + window_s, self.clock.steady, 1 / RATE)
        counts = [np.count_nonzero((at > end - window_s) & (at <= end)) for end in ends]
        return min(counts), max(counts)


def usual(seconds: float, *, from_s: float = 0.0) -> list[Arrival]:
    return [Arrival(from_s + i / RATE) for i in range(int(seconds * RATE))]


def stamps(seconds: float, pts_s: Sequence[float | None]) -> list[Arrival]:
    """Return packets after ten usual seconds whose time stamps repeat a series."""
    return usual(10) + [Arrival(pts_s[i % len(pts_s)]) for i in range(int(seconds * RATE))]


STEPPED = [
    pytest.param([*usual(10), Arrival(10, wall_s=step), *usual(20, from_s=10.04)], id=f"{step:+g}")
    for step in (-2, -40 * 86400, 2, 3600)
]
REPORTED = [
    pytest.param(
        usual(after)
        + [Arrival(i / RATE, 0.0, WALL + off) for i in range(RATE * after, RATE * (after + 12))],
        id=f"report after {after} s of a clock {off:+g} s off",
    )
    for after in (0, 3)
    for off in (-5, -55, -3600, 20, 1e12, nan)
]
WRONG = [
    pytest.param(stamps(20, series), id=name)
    for name, series in {
        "stand still": [7.0],
        "missing": [None],
        "not a number": [nan],
        "endless": [inf, -inf],
        "now and then": [None, 3.0, None],
        "negative": [-1e6 + i for i in range(9999)],
        "huge": [1e18, 1e300, -1e300],
        "swing by a second": [0.0, 0.9, 0.2, 0.99],
        "swing by hours": [0.0, 9000.0, 3.0],
        "whole seconds": [float(i // RATE) for i in range(50 * RATE)],
        "slow": [10 + i / RATE / 100 for i in range(50 * RATE)],
        "fast": [10 + i / RATE * 100 for i in range(50 * RATE)],
        "wrap around": [*(95443.7 + i / RATE for i in range(5)), *(i / RATE for i in range(9999))],
        "jump ahead by hours": [20_000 + i / RATE for i in range(9999)],
        "jump back by hours": [-20_000 + i / RATE for i in range(9999)],
        "reordered": [10 + (i + (2, 0, 1)[i % 3] - i % 3) / RATE for i in range(50 * RATE)],
    }.items()
]


@pytest.mark.parametrize("arrivals", [*STEPPED, *REPORTED, *WRONG])
def test_a_camera_is_looked_at_at_its_rate_whatever_the_clocks_say(
    arrivals: list[Arrival], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = MovingScene()
    scene.play(arrivals, monkeypatch)
    assert scene.least_and_most(10) == (pytest.approx(40, abs=1), pytest.approx(40, abs=1))
    assert all(later > earlier for earlier, later in pairwise(scene.moments))
    lags = [at_s - look.steady_s for at_s, look in scene.looks]
    assert min(lags) >= -0.01
    assert max(lags) <= 5


ANY_PTS = st.one_of(st.none(), st.floats(), st.floats(-100, 100), st.just(0.0))
ANY_STEP = st.sampled_from([0.0] * 6 + [-3600.0, -30.0, -1.0, 1.0, 30.0, 3600.0, 4e6])
ANY_REALTIME = st.one_of(
    st.none(), st.floats(), st.floats(-100, 100).map(lambda off_s: WALL + off_s)
)
PHASE = st.tuples(
    st.integers(1, 150), ANY_PTS, st.sampled_from([0.0, 0.04, 0.04, 1.0, -0.04, 500.0]), ANY_STEP,
    ANY_REALTIME,
)  # fmt: skip


def phases(parts: Sequence[tuple[int, float | None, float, float, float | None]]) -> list[Arrival]:
    """Return packets: in each phase, time stamps begin anywhere and go on in equal steps."""
    return [
        Arrival(None if pts is None else pts + i * step_s, 0.0 if i else wall_s, realtime_s)
        for count, pts, step_s, wall_s, realtime_s in parts
        for i in range(count)
    ]


@settings(max_examples=15, deadline=None)
@given(st.lists(PHASE, max_size=6).map(phases), st.lists(st.tuples(ANY_PTS, ANY_STEP), max_size=99))
def test_no_sequence_of_time_stamps_and_steps_changes_the_rate(
    arrivals: list[Arrival], steps: list[tuple[float | None, float]]
) -> None:
    scene = MovingScene()
    all_arrivals = [*arrivals, *(Arrival(pts, wall_s) for pts, wall_s in steps), *usual(12)]
    with pytest.MonkeyPatch.context() as monkeypatch:
        scene.play(all_arrivals, monkeypatch)
    least, most = scene.least_and_most(10)
    assert least >= 32
    assert most <= 48
    assert all(later > earlier for earlier, later in pairwise(scene.moments))


def test_after_a_step_of_the_wall_clock_looks_show_the_new_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = MovingScene()
    scene.play([*usual(20), Arrival(20, wall_s=-3600), *usual(10, from_s=20.04)], monkeypatch)
    _, last = scene.looks[-1]
    assert last.time_s == pytest.approx(scene.clock.wall, abs=0.3)
    assert last.steady_s == pytest.approx(scene.clock.steady, abs=0.3)


def test_packets_that_come_at_once_after_a_stall_keep_their_distance_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = MovingScene()
    late_arrivals = [Arrival(20 + i / RATE, steady_s=3.0 * (i == 0)) for i in range(RATE)]
    scene.play([*usual(20), *late_arrivals, *usual(10, from_s=24)], monkeypatch)
    look_before = [look for at_s, look in scene.looks if at_s < STEADY + 20][-1]
    look_after = next(look for at_s, look in scene.looks if at_s > STEADY + 22)
    assert look_after.steady_s == pytest.approx(look_before.steady_s + 0.25, abs=0.1)


def test_a_stream_whose_packets_give_no_frame_is_not_followed_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = MovingScene()
    monkeypatch.setattr(EveryFrame, "take", lambda *_, **__: [])
    with pytest.raises(SourceError, match="no frame could be decoded"):
        scene.play(usual(60), monkeypatch)
    assert scene.clock.steady == pytest.approx(STEADY + 30, abs=0.1)


def test_a_stream_that_sends_a_frame_now_and_then_is_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = MovingScene()
    now_and_then = [Arrival(29.0 * i, steady_s=29.0) for i in range(5)]
    scene.play(now_and_then, monkeypatch)
    assert len(scene.looks) == 5


def luma(level: int) -> np.ndarray:
    return np.full((135, 240), level, np.uint8)


@pytest.mark.parametrize(
    ("times_s", "is_frozen"),
    [
        pytest.param([0, 3, 6, 9], False, id="not yet"),
        pytest.param([0, 3, 6, 9, 12], True, id="after ten seconds"),
        pytest.param([0, 12], False, id="two key frames far apart"),
    ],
)
def test_a_picture_that_stays_the_same_is_frozen_until_any_change(
    times_s: list[float], is_frozen: bool
) -> None:
    freeze = FreezeDetector(10)
    same = [freeze.update(luma(1), time_s) for time_s in times_s]
    assert same == [False, *[True] * (len(times_s) - 1)]
    assert freeze.is_frozen(times_s[-1]) == is_frozen
    other_luma = luma(1)
    other_luma[0, 0] = 2
    assert not freeze.update(other_luma, times_s[-1] + 1)
    assert not freeze.is_frozen(times_s[-1] + 1)
