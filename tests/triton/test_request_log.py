import json

import pytest

from orchestrator.errors import Overloaded, PictureError, PlateError
from orchestrator.triton.request_log import LONGEST, explain, log_failure


@pytest.fixture
def told(capfd):
    def read() -> list[dict[str, str]]:
        return [json.loads(line) for line in capfd.readouterr().err.splitlines()]

    return read


def test_our_errors_stay_what_they_are() -> None:
    error = PictureError("picture: wanted pixels, got none")
    assert explain(error) is error


def test_that_there_is_no_memory_is_no_fault_of_ours() -> None:
    assert isinstance(explain(MemoryError()), Overloaded)


def test_a_foreign_error_is_a_fault_of_ours() -> None:
    error = explain(ZeroDivisionError("division by zero"))
    assert type(error) is PlateError
    assert error.reason == "internal"
    assert str(error) == "ZeroDivisionError: division by zero"


def test_a_failed_request_is_one_line(told) -> None:
    log_failure("gate-7", PictureError("picture: wanted pixels,\ngot none"))
    (line,) = told()
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "event": "request failed",
        "request_id": "gate-7",
        "reason": "picture",
        "message": "picture: wanted pixels,\ngot none",
    }


def test_a_long_message_is_cut(told) -> None:
    log_failure("", PictureError("x" * 10 * LONGEST))
    assert len(told()[0]["message"]) == LONGEST
