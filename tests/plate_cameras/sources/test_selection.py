"""Which packets of a stream are decoded."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from plate_cameras.sources.capture import Capture, VideoPacket, seconds_of
from plate_cameras.sources.network.addresses import parse_address
from plate_cameras.sources.selection import (
    MAX_KEPT,
    MAX_KEPT_BYTES,
    KeptPackets,
    PacketSizes,
    SelectiveDecoder,
)
from plate_cameras.sources.status import Limits
from tests.plate_cameras.clips import RATE, encode, street

LIMITS = Limits()


class Playing:
    """A clip whose packets arrive 25 a second, by its own clock."""

    def __init__(self, file: Path) -> None:
        self.capture = Capture.open(parse_address(str(file), LIMITS), LIMITS)
        self.packets: Iterator[VideoPacket] = self.capture.packets()
        self.decoder = SelectiveDecoder(self.capture, 2.0, lambda: None)
        self.packet_count = 0

    def play(self, count: int, *, moves: bool) -> list[list[float | None]]:
        """Return the times of the frames that each packet gave."""
        frames = []
        for _ in range(count):
            packet = next(self.packets)
            new_frames = self.decoder.take(packet, self.packet_count / RATE, moves=moves)
            frames.append([seconds_of(frame) for frame in new_frames])
            self.packet_count += 1
        return frames


def open_clip(tmp_path: Path, frames: Sequence[np.ndarray], **options: object) -> Playing:
    file = tmp_path / "clip.mp4"
    file.write_bytes(encode(frames, **options))
    return Playing(file)


def test_a_scene_that_rests_has_only_its_key_frames_decoded(tmp_path: Path) -> None:
    playing = open_clip(tmp_path, street(75, box_from=1000))
    frame_times = playing.play(75, moves=False)
    assert [index for index, times in enumerate(frame_times) if times] == [0, 25, 50]


def test_all_frames_are_decoded_from_any_moment_on(tmp_path: Path) -> None:
    playing = open_clip(tmp_path, street(75, box_from=1000))
    playing.play(40, moves=False)
    (caught_up,) = playing.play(1, moves=True)
    assert caught_up == [pytest.approx(40 / RATE)]
    frame_times = playing.play(30, moves=True)
    assert [len(times) for times in frame_times] == [1] * 30
    assert playing.decoder.damaged_packets == 0


def test_a_box_that_comes_between_key_frames_has_frames_decoded_at_once(tmp_path: Path) -> None:
    playing = open_clip(tmp_path, street(125, box_from=65), gop=50)
    frame_times = playing.play(100, moves=False)
    indexes = [index for index, times in enumerate(frame_times) if times]
    assert indexes[:2] == [0, 50]
    assert 65 < indexes[2] < 80  # it is in the picture as a whole from 75 on
    assert indexes[3] == indexes[2] + 1


def test_of_a_stream_with_key_frames_only_most_are_left_out(tmp_path: Path) -> None:
    playing = open_clip(tmp_path, street(100, box_from=1000), codec="mjpeg", form="mov")
    at_rest = sum(map(bool, playing.play(50, moves=False)))
    moving = sum(map(bool, playing.play(50, moves=True)))
    assert at_rest <= 2 * 4 + 1
    assert moving <= 2 * 4 + 1


def test_after_a_damaged_packet_the_next_key_frame_is_waited_for(tmp_path: Path) -> None:
    playing = open_clip(tmp_path, street(75, box_from=1000))
    playing.play(30, moves=True)
    packet = next(playing.packets)
    playing.capture.flush()  # the decoder has lost what the packet refers to
    playing.decoder.take(packet, 30 / RATE, moves=True)
    playing.packet_count += 1
    later = playing.play(30, moves=True)
    assert all(later[-10:])


def test_usual_packets_are_not_unusual() -> None:
    sizes = PacketSizes()
    assert not any(sizes.is_unusual(1000 + 100 * (index % 5)) for index in range(500))
    assert not sizes.is_unusual(50_000)  # one alone
    assert any(sizes.is_unusual(2500) for _ in range(4))


def test_a_scene_that_needs_more_bytes_for_good_becomes_usual() -> None:
    sizes = PacketSizes()
    for size in [1000] * 100 + [5000] * 200:
        unusual = sizes.is_unusual(size)
    assert not unusual


def test_between_key_frames_far_apart_a_frame_is_seen_every_few_seconds(tmp_path: Path) -> None:
    playing = open_clip(tmp_path, street(150, box_from=1000), gop=150)
    frame_times = playing.play(150, moves=False)
    indexes = [index for index, times in enumerate(frame_times) if times]
    assert indexes == [0, 63, 126]
    assert frame_times[63] == [pytest.approx(63 / RATE)]


def test_nothing_is_decoded_before_the_first_key_frame(tmp_path: Path) -> None:
    playing = open_clip(tmp_path, street(75, box_from=1000))
    next(playing.packets)  # the key frame is missed
    frame_times = playing.play(30, moves=True)
    assert [index for index, times in enumerate(frame_times) if times] == [*range(24, 30)]
    assert playing.decoder.damaged_packets == 0


def test_kept_packets_are_added_up_once_each_and_come_back_to_zero() -> None:
    class Packet:
        """A packet that counts the reads of its size."""

        def __init__(self, size: int) -> None:
            self._size, self.reads = size, 0

        @property
        def size(self) -> int:
            self.reads += 1
            return self._size

    for sizes in ([1000] * MAX_KEPT, [MAX_KEPT_BYTES, 1]):
        kept_packets, packets = KeptPackets(), [Packet(size) for size in sizes]
        for packet in packets:
            assert not kept_packets.is_full
            kept_packets.append(packet)
        assert kept_packets.is_full
        assert {packet.reads for packet in packets} == {1}
        assert len(kept_packets.take_all()) == len(sizes)
        assert (len(kept_packets), kept_packets.bytes, kept_packets.is_full) == (0, 0, False)
