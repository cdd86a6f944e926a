"""The clocks of the cameras. No other module of the cameras asks the system for the time.

Durations, waits and hold-offs are differences of `steady_s`, which nobody can set. The Unix time is
only stored and shown: somebody may set it forwards or backwards at any moment.

Source: clock_gettime(2), CLOCK_BOOTTIME.
"""

from __future__ import annotations

import time
from datetime import datetime


def steady_s() -> float:
    """Return seconds of a clock that nobody sets. It runs on while the machine sleeps.

    Its zero is the start of the machine, so its values mean nothing to another machine.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def unix_s() -> float:
    """Return the Unix time, to store and to show. A difference of two is no duration."""
    return time.time()


def local_now() -> datetime:
    """Return the local date and time, for schedules of the week."""
    return datetime.fromtimestamp(unix_s())
