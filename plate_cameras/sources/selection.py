"""Selects the packets to decode: only key frames while a scene rests, all when something moves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import av
from av.video.frame import VideoFrame

from plate_cameras.sources.capture import LiveCapture, VideoPacket

MAX_KEPT = 300
"""Packets since the last key frame that are kept. They are decoded when motion begins."""
MAX_KEPT_BYTES = 64_000_000
"""Their bytes. A stream of 50 Mbit/s with a key frame every ten seconds is still kept."""
MAX_BLIND_S = 2.5
"""Longest time without a decoded frame. Many vehicles stay in the picture for no longer, but some
cameras send a key frame every ten seconds only."""
REST_STEP_S = 0.25
"""Shortest time between decoded key frames while the scene rests; every MJPEG frame is one."""
NO_KEY_S = 20.0
"""A stream without key frames for this time is decoded in full."""
ALERT_S = 1.0
"""All frames are decoded for this time after unusually large packets."""
PAUSE_S = 2.0
"""Shortest time between two such alerts."""
MIN_FACTOR, MAX_FACTOR, FACTOR_STEP = 1.5, 4.0, 1.25
"""The last packets are unusual if their mean is this many usual sizes. The factor grows with each
false alert, because the rate control of some encoders swings."""
MIN_BYTES = 50
OUTLIER_FACTOR = 1.6
"""One packet counts as this many limits at most. Encoders insert single large ones."""
INTRA_ROW = 5
"""After more key frames in a row, a stream has no other frames (MJPEG). Any may be left out."""
FORGET, RECENT = 0.02, 0.25
"""Weight of a new packet in the usual size, and in the mean of the last few."""
LEARNED = 20
"""Packets after which the usual size is known."""


class PacketSizes:
    """The usual size of packets between key frames. Motion needs more bytes."""

    def __init__(self) -> None:
        self._count = 0
        self._usual = self._recent = 0.0
        self._factor = MIN_FACTOR

    def is_unusual(self, size: int) -> bool:
        """Take the size of a packet, and tell whether the last few were unusually large."""
        self._count += 1
        max_size = OUTLIER_FACTOR * self._factor * self._usual + MIN_BYTES
        capped_size = min(size, max_size) if self._count > 1 else size
        self._recent += max(RECENT, 1 / self._count) * (capped_size - self._recent)
        are_large = self._recent > self._factor * self._usual + MIN_BYTES
        self._usual += max(FORGET, 1 / self._count) * (capped_size - self._usual)
        return self._count > LEARNED and are_large

    def learn(self, *, has_moved: bool) -> None:
        """Learn whether something moved when the last packets were unusual."""
        self._factor = MIN_FACTOR if has_moved else min(MAX_FACTOR, self._factor * FACTOR_STEP)


class KeptPackets:
    """The packets since the last key frame that are not decoded yet."""

    def __init__(self) -> None:
        self._packets: list[VideoPacket] = []
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._packets)

    @property
    def is_full(self) -> bool:
        """True if no more are kept."""
        return len(self._packets) >= MAX_KEPT or self.bytes > MAX_KEPT_BYTES

    def append(self, packet: VideoPacket) -> None:
        """Keep a packet."""
        self._packets.append(packet)
        self.bytes += packet.size

    def take_all(self) -> list[VideoPacket]:
        """Return all packets, and keep none."""
        packets, self._packets, self.bytes = self._packets, [], 0
        return packets


class SelectiveDecoder:
    """Decodes only the frames of a live stream that are needed.

    Args:
        looks_per_s: Frames a second that are wanted at most.
        beat: Is called after each packet of several, so that long work is not taken for a hang.

    Attributes:
        damaged_packets: Number of packets that could not be decoded.
    """

    def __init__(self, capture: LiveCapture, looks_per_s: float, beat: Callable[[], None]) -> None:
        self._capture, self._beat = capture, beat
        self._step_s = 0.5 / looks_per_s
        self._pending = KeptPackets()  # not decoded yet
        self._is_lost = True  # until the next key frame
        self._is_in_sync = False  # whether the decoder has all that comes before `_pending`
        self._keys_in_row = 0
        self._sizes = PacketSizes()
        self._key_s: float | None = None
        self._last_frame_s = self._alert_s = float("-inf")
        self._has_alert = False
        self.damaged_packets = 0

    def take(self, packet: VideoPacket, now_s: float, *, moves: bool) -> list[VideoFrame]:
        """Return the new frames of a packet. Only the last of many frames that are decoded late.

        Args:
            packet: The next packet.
            now_s: Time of its arrival, seconds.
            moves: True if something moves, so that all frames are wanted.
        """
        is_unusual = self._keep(packet, now_s)
        wants_all = self._wants_all(is_unusual, now_s, moves=moves)
        if self._is_lost or self._is_left_out(now_s, wants_all=wants_all):
            return []
        if wants_all:
            self._last_frame_s = now_s
            return self._catch_up()
        if packet.is_keyframe:
            self._last_frame_s, self._is_in_sync = now_s, False
            return self._try(self._capture.decode_alone, packet)
        return []

    def _keep(self, packet: VideoPacket, now_s: float) -> bool:
        """Keep a packet for later. Return whether the last packets were unusually large."""
        if packet.is_keyframe:
            self._is_lost, self._key_s = False, now_s
            self._keys_in_row += 1
            if self._pending or not self._is_in_sync:
                self._is_in_sync = False
                self._pending.take_all()
        else:
            self._keys_in_row = 0
            self._key_s = now_s if self._key_s is None else self._key_s
            if now_s - self._key_s > NO_KEY_S:
                self._is_lost = False
            if self._pending.is_full:
                self._lose()
        if not self._is_lost:
            self._pending.append(packet)
        return not packet.is_keyframe and self._sizes.is_unusual(packet.size)

    def _wants_all(self, is_unusual: bool, now_s: float, *, moves: bool) -> bool:
        if self._has_alert and (moves or now_s - self._alert_s > ALERT_S):
            self._sizes.learn(has_moved=moves)
            self._has_alert = False
        if is_unusual and now_s - self._alert_s > ALERT_S + PAUSE_S:
            self._alert_s, self._has_alert = now_s, not moves
        is_blind = now_s - self._last_frame_s > MAX_BLIND_S
        return moves or now_s - self._alert_s <= ALERT_S or is_blind

    def _is_left_out(self, now_s: float, *, wants_all: bool) -> bool:
        """Tell whether another frame would come too soon; of MJPEG any frame may be left out."""
        if wants_all and self._keys_in_row <= INTRA_ROW:
            return False
        return now_s - self._last_frame_s < (self._step_s if wants_all else REST_STEP_S)

    def _catch_up(self) -> list[VideoFrame]:
        """Decode all packets that are kept."""
        packets = self._pending.take_all()
        if not self._is_in_sync:
            self._capture.flush()
            self._is_in_sync = True
        frames: list[VideoFrame] = []
        for packet in packets:
            frames = self._try(self._capture.decode, packet) or frames
            self._beat()
            if self._is_lost:
                return []
        return frames if len(packets) == 1 else frames[-1:]

    def _try(
        self, decode: Callable[[VideoPacket], list[VideoFrame]], packet: VideoPacket
    ) -> list[VideoFrame]:
        """Decode a packet. If it is damaged, wait for the next key frame."""
        with suppress(av.FFmpegError):
            return [frame for frame in decode(packet) if not frame.is_corrupt]
        self.damaged_packets += 1
        self._lose()
        return []

    def _lose(self) -> None:
        self._pending.take_all()
        self._is_lost, self._is_in_sync = True, False
