import json

import pytest
import torch

from orchestrator.errors import Cancelled, ModelError, Overloaded, PictureError, PlateError
from orchestrator.triton.request_log import MAX_CHARACTERS, explain, log_failure


@pytest.fixture
def read_log(capfd):
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


def test_a_failed_request_is_one_line(read_log) -> None:
    log_failure("gate-7", PictureError("picture: wanted pixels,\ngot none"))
    (line,) = read_log()
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "event": "request failed",
        "request_id": "gate-7",
        "reason": "picture",
        "message": "picture: wanted pixels,\ngot none",
    }


def test_a_long_message_is_cut(read_log) -> None:
    log_failure("", PictureError("x" * 10 * MAX_CHARACTERS))
    assert len(read_log()[0]["message"]) == MAX_CHARACTERS


def raise_and_catch(error: PlateError) -> PlateError:
    try:
        raise error
    except PlateError:
        return error


@pytest.mark.parametrize("error", [ModelError("yolo: gone"), PlateError("wrong")])
def test_a_fault_shows_where_it_was_raised(read_log, error: PlateError) -> None:
    log_failure("", raise_and_catch(error))
    assert f'{__file__}", line ' in read_log()[0]["traceback"]


@pytest.mark.parametrize("error", [PictureError("x"), Overloaded("full"), Cancelled("gone")])
def test_a_request_at_fault_has_no_traceback(read_log, error: PlateError) -> None:
    log_failure("", raise_and_catch(error))
    assert "traceback" not in read_log()[0]


def test_a_long_traceback_keeps_its_beginning_and_its_end(read_log) -> None:
    with pytest.raises(RuntimeError) as error:
        raise RuntimeError("y" * MAX_CHARACTERS + "the end")
    log_failure("", explain(error.value))
    (line,) = read_log()
    assert f'{__file__}", line ' in line["traceback"]
    assert line["traceback"].endswith("the end\n")
    assert len(line["traceback"]) == MAX_CHARACTERS
