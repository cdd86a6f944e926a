"""Times as cameras write them, in the zone of this machine."""

from __future__ import annotations

import time

import pytest

from plate_cameras.sources.sent import message_times
from plate_cameras.sources.sent.message_times import read_time, settle_time
from tests.plate_cameras.sources.sent.vendor_messages import TIME_S


@pytest.mark.parametrize(
    ("text", "time_s"),
    [
        ("2026-11-27T07:15:30Z", TIME_S),
        ("2026-11-27t07:15:30z", TIME_S),
        ("2026-11-27T07:15:30.5Z", TIME_S + 0.5),
        ("2026-11-27T10:15:30.25+03:00", TIME_S + 0.25),
        ("2026-11-27T02:15:30-0500", TIME_S),
        ("2026-11-27T10:15:30+03", TIME_S),
        ("2026-11-27 10:15:30", TIME_S),
        ("2026/11/27 10:15:30.1234567", TIME_S + 0.123456),
        ("20261127101530", TIME_S),
        ("20261127101530250", TIME_S + 0.25),
        ("20261127T071530Z", TIME_S),
        ("20261127 101530250+0300", TIME_S + 0.25),
        ("1795763730.0", TIME_S),
        ("1795763730000.0", TIME_S),
        ("1795763730000000", TIME_S),
        ("2026-11-27", None),
        ("10:15:30", None),
        ("2026-11-27T10:15:60Z", None),
        ("2026-13-27T10:15:30Z", None),
        ("2026-11-27T10:15:30+99:00", None),
        ("0001-01-01T00:00:00", None),
        ("yesterday", None),
    ],
)
def test_a_time_is_understood_as_cameras_write_it(text: str, time_s: float | None) -> None:
    assert read_time(text) == (time_s and pytest.approx(time_s))


OCTOBER_25_S = 1792886400.0
"""00:00 UTC of October 25, 2026: an hour later, the clocks of Berlin go back from 3:00 to 2:00."""


@pytest.mark.parametrize(
    ("local", "after_s", "time_s"),
    [
        pytest.param("2026-10-25 02:30:00", 1800, 1800, id="first time"),
        pytest.param("2026-10-25 02:30:00", 5400, 5400, id="second time"),
        pytest.param("2026-10-25 02:30:00", 86000, 5400, id="a day later"),
        pytest.param("2026-10-25 01:30:00", 5400, -1800, id="before it"),
    ],
)
def test_of_an_hour_that_comes_twice_the_one_that_is_over_counts(
    monkeypatch: pytest.MonkeyPatch, local: str, after_s: float, time_s: float
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    monkeypatch.setattr(message_times, "unix_s", lambda: OCTOBER_25_S + after_s)
    assert read_time(local) == OCTOBER_25_S + time_s


@pytest.mark.parametrize(
    ("camera_s", "time_and_trust"),
    [
        pytest.param(None, (1e9, False), id="no time"),
        pytest.param(1e9 - 3600, (1e9 - 3600, True), id="an hour late"),
        pytest.param(1e9 + 30, (1e9, True), id="a clock ahead"),
        pytest.param(1e9 + 3600, (1e9, False), id="a clock in another zone"),
        pytest.param(0.0, (1e9, False), id="a clock that was never set"),
    ],
)
def test_a_cameras_time_counts_if_it_may_be_true(
    camera_s: float | None, time_and_trust: tuple[float, bool]
) -> None:
    assert settle_time(camera_s, 1e9) == time_and_trust
