"""Reasons of searches: their header and parameter."""

import pytest
from starlette.datastructures import Headers

from orchestrator.errors import ParameterError
from plate_cameras.control_room.rest.exchange import read_reason


@pytest.mark.parametrize(
    ("headers", "query", "reason"),
    [
        pytest.param({}, "", "", id="none"),
        pytest.param({"x-reason": " case 7 "}, "", "case 7", id="header"),
        pytest.param({}, "case 7", "case 7", id="parameter"),
        pytest.param({"x-reason": "case 7"}, "case 8", "case 7", id="header goes first"),
        pytest.param({"x-reason": "%D0%B4%D0%B5%D0%BB%D0%BE"}, "", "дело", id="percent-encoded"),
        pytest.param({"x-reason": "дело".encode().decode("latin-1")}, "", "дело", id="UTF-8"),
        pytest.param({"x-reason": "50% off"}, "", "50% off", id="percent sign"),
    ],
)
def test_the_reason_is_read(headers: dict[str, str], query: str, reason: str) -> None:
    assert read_reason(Headers(headers), query) == reason


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param("x" * 501, id="too long"),
        pytest.param("case%0A7", id="two lines"),
    ],
)
def test_a_reason_that_does_not_fit_a_line_is_rejected(reason: str) -> None:
    with pytest.raises(ParameterError, match="reason: wanted at most 500 printable characters"):
        read_reason(Headers({"x-reason": reason}))
