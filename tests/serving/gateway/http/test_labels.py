"""Labels of a call: the name of a camera, and a time."""

import re

import pytest

from orchestrator.errors import ParameterError
from orchestrator.serving.gateway.http.labels import Labels, labels_of

TIME = "2026-05-17T09:30:00"
ENDS = ["", "Z", ".5", ",123456789Z", "+03:00", "-0330", "+03"]
TIMES = ["2026-05-17T09:30", "2024-02-29T23:59:59Z", *(TIME + end for end in ENDS)]
NO_TIMES = """now|1779000000|2026-05-17|17.05.2026 09:30|2026-05-17 09:30:00|2026-02-29T09:30:00|
2026-13-01T09:30:00|0000-01-01T09:30:00|2026-05-17T24:00:00|2026-05-17T09:30:60|
\u0662026-05-17T09:30:00|2026-05-17T09:30:00z|2026-05-17T09:30:00+24:00""".replace("\n", "")


def test_labels_of_the_form_go_before_those_of_the_query() -> None:
    query = {"camera_id": "1", "timestamp": TIME}
    assert labels_of(query, {"camera_id": "2"}) == Labels("2", TIME)
    assert labels_of({"max_plates": "1"}, {}) == Labels("", "")


@pytest.mark.parametrize("camera_id", ["", "a" * 100, "въезд\n7"])
def test_a_camera_may_have_any_name_of_100_characters(camera_id: str) -> None:
    assert labels_of({}, {"camera_id": camera_id}).camera_id == camera_id


@pytest.mark.parametrize("timestamp", TIMES)
def test_a_time_comes_back_as_it_was_sent(timestamp: str) -> None:
    assert labels_of({"timestamp": timestamp}, {}).timestamp == timestamp


@pytest.mark.parametrize("timestamp", ["", f"{TIME}\n", *NO_TIMES.split("|")])
def test_what_is_no_time_is_refused(timestamp: str) -> None:
    message = (
        f"timestamp: wanted an ISO 8601 time such as 2026-05-17T09:30:00+03:00, got {timestamp!r}"
    )
    with pytest.raises(ParameterError, match=re.escape(message)):
        labels_of({"timestamp": timestamp}, {})


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ({"camera_id": "a" * 101}, "camera_id: wanted up to 100 characters, got 101"),
        ({"timestamp": f"{TIME} 03:00"}, r"got '.* 03:00'; in a query \+ is written %2B"),
        ({"timestamp": "a" * 5000}, f"got '{'a' * 60}'$"),
    ],
    ids=["long name", "a plus that the query made a blank", "long time"],
)
def test_a_wrong_label_is_told(label: dict[str, str], message: str) -> None:
    for query, fields in ((label, {}), ({}, label)):
        with pytest.raises(ParameterError, match=message):
            labels_of(query, fields)
