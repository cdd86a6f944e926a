import json

import pytest
import torch

from orchestrator.errors import Overloaded, PictureError, PlateError
from orchestrator.triton.request_log import LONGEST, explain, log_failure


@pytest.fixture
def told(capfd):
    def read() -> list[dict[str, str]]:
        return [json.loads(line) for line in capfd.readouterr().err.splitlines()]

    return read


def test_errors_of_others_become_ours() -> None:
    error = PictureError("picture: wanted pixels, got none")
    assert explain(error) is error
    assert isinstance(explain(MemoryError()), Overloaded)
    assert isinstance(explain(torch.OutOfMemoryError("CUDA out of memory. Tried")), Overloaded)
    foreign = explain(ZeroDivisionError("division by zero"))
    assert (type(foreign), foreign.reason) == (PlateError, "internal")
    assert str(foreign) == "ZeroDivisionError: division by zero"


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
