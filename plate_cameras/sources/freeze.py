"""Frozen streams: frames come, but the picture is exactly the same for a long time."""

from __future__ import annotations

import numpy as np

from plate_cameras.motion import Luma

MIN_FRAMES = 4
"""Frames that must be the same. Key frames of some cameras come every ten seconds only."""


class FreezeDetector:
    """Notices an encoder that repeats one picture. The noise of a real sensor changes each frame.

    Args:
        frozen_s: Time without a change after which a stream is frozen.
    """

    def __init__(self, frozen_s: float) -> None:
        self._frozen_s = frozen_s
        self._luma: Luma | None = None
        self._since_s = 0.0
        self._same = 0

    def update(self, luma: Luma, time_s: float) -> bool:
        """Take the next picture, and tell whether it is the same as the one before."""
        if self._luma is not None and np.array_equal(luma, self._luma):
            self._same += 1
            return True
        self._luma, self._since_s, self._same = luma, time_s, 0
        return False

    def is_frozen(self, time_s: float) -> bool:
        """Tell whether the stream is frozen."""
        return self._same >= MIN_FRAMES and time_s - self._since_s >= self._frozen_s
