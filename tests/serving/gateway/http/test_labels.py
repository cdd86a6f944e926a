import re

import pytest

from orchestrator.errors import ParameterError
from orchestrator.serving.gateway.http.labels import Labels, labels_of

TIME = "2026-05-17T09:30:00"


def test_a_call_needs_no_labels() -> None:
    assert labels_of({"max_plates": "1"}, {}) == Labels("", "")


def test_labels_of_the_form_go_before_those_of_the_query() -> None:
    query = {"camera_id": "1", "timestamp": TIME}
    assert labels_of(query, {"camera_id": "2"}) == Labels("2", TIME)


@pytest.mark.parametrize("camera_id", ["", "a" * 100, "въезд\n7"])
def test_a_camera_may_have_any_name_of_100_characters(camera_id: str) -> None:
    assert labels_of({}, {"camera_id": camera_id}).camera_id == camera_id


@pytest.mark.parametrize("is_in_form", [False, True])
def test_a_longer_name_of_a_camera_is_refused(is_in_form: bool) -> None:
    given = [{}, {"camera_id": "a" * 101}]
    with pytest.raises(ParameterError, match="camera_id: wanted up to 100 characters, got 101"):
        labels_of(*(given if is_in_form else given[::-1]))


@pytest.mark.parametrize(
    "timestamp",
    [
        "2026-05-17T09:30",
        TIME,
        f"{TIME}Z",
        f"{TIME}.5",
        f"{TIME},123456789Z",
        f"{TIME}+03:00",
        f"{TIME}-0330",
        f"{TIME}+03",
        "2024-02-29T23:59:59Z",
    ],
)
def test_a_time_comes_back_as_it_was_sent(timestamp: str) -> None:
    assert labels_of({"timestamp": timestamp}, {}).timestamp == timestamp


@pytest.mark.parametrize(
    "timestamp",
    [
        "",
        "now",
        "1779000000",
        "2026-05-17",
        "17.05.2026 09:30",
        "2026-05-17 09:30:00",
        f"{TIME}\n",
        f"{TIME}z",
        f"{TIME}+24:00",
        "2026-02-29T09:30:00",
        "2026-13-01T09:30:00",
        "0000-01-01T09:30:00",
        "2026-05-17T24:00:00",
        "2026-05-17T09:30:60",
        "\u0662026-05-17T09:30:00",
    ],
)
def test_what_is_no_time_is_refused(timestamp: str) -> None:
    message = (
        f"timestamp: wanted an ISO 8601 time such as 2026-05-17T09:30:00+03:00, got {timestamp!r}"
    )
    with pytest.raises(ParameterError, match=re.escape(message)):
        labels_of({"timestamp": timestamp}, {})


def test_a_plus_that_a_query_made_a_blank_is_explained() -> None:
    with pytest.raises(ParameterError, match=r"got '.* 03:00'; in a query \+ is written %2B"):
        labels_of({"timestamp": f"{TIME} 03:00"}, {})


def test_a_long_text_is_shown_in_part() -> None:
    with pytest.raises(ParameterError, match=f"got '{'a' * 60}'$"):
        labels_of({"timestamp": "a" * 5000}, {})
