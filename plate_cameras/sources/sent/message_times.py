"""Times in messages of cameras: which one a text says, and whether it may be true."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from plate_cameras.clocks import unix_s

MAX_LATE_S, MAX_EARLY_S = 86400.0, 60.0
"""Greatest age of a message, and how far a camera's clock may be ahead. A time outside of them is
that of a wrong clock, and the arrival counts in its place."""
TIME = re.compile(
    r"(\d{4})[-/.]?(\d\d)[-/.]?(\d\d)[ T]?(\d\d):?(\d\d):?(\d\d)(?:[.,:]?(\d{1,9}))?"
    r" ?(?:(Z)|([+-])(\d\d):?(\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)
"""A date and a time, as RFC 3339 and cameras write them, also without separators:
`20261127 101530250+0300`."""
UNIX = re.compile(r"(\d{9,10}|\d{12,13}|\d{15,16})(\.\d+)?", re.ASCII)
"""Seconds, milliseconds or microseconds since 1970."""


def read_time(text: str) -> float | None:
    """Return the Unix time of a camera's text; None if it is none.

    A time without a zone is this machine's local. At the end of summer time, an hour comes twice:
    the later one counts, unless it is still to come.
    """
    if UNIX.fullmatch(text):
        number = float(text)
        thousands = (len(text.partition(".")[0]) - 9) // 3
        return number / float(1000**thousands)
    parts = TIME.fullmatch(text)
    if not parts:
        return None
    fraction = f"{parts[7] or '0':0<6.6}"
    try:
        year, month, day, hour, minute, second = map(int, parts.groups()[:6])
        local = datetime(year, month, day, hour, minute, second, int(fraction))
        if parts[8] or parts[9]:
            return local.replace(tzinfo=_zone_of(parts)).timestamp()
        moments_s = [local.replace(fold=fold).timestamp() for fold in (0, 1)]
    except (ValueError, OverflowError, OSError):
        return None
    limit_s = unix_s() + MAX_EARLY_S
    return max((at_s for at_s in moments_s if at_s <= limit_s), default=min(moments_s))


def _zone_of(parts: re.Match[str]) -> timezone:
    ahead = timedelta(hours=int(parts[10] or 0), minutes=int(parts[11] or 0))
    return timezone(-ahead if parts[9] == "-" else ahead)


def settle_time(camera_s: float | None, now_s: float) -> tuple[float, bool]:
    """Return the Unix time of a message, and whether it is the camera's.

    Args:
        camera_s: The time by the camera; None if it sends none.
        now_s: The time of the arrival.
    """
    if camera_s is None or not now_s - MAX_LATE_S <= camera_s <= now_s + MAX_EARLY_S:
        return now_s, False
    return min(camera_s, now_s), True
