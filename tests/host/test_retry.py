import pytest

from orchestrator.errors import (
    ModelError,
    Overloaded,
    PlateError,
    RequestError,
    ServerError,
    SettingsError,
)
from orchestrator.host.retry import Retries, exponential_s


class Scripted:
    """Returns the next entry of a script, or raises it if it is an error."""

    def __init__(self, *script: str | PlateError) -> None:
        self.script = list(script)

    def __call__(self) -> str:
        line = self.script.pop(0)
        if isinstance(line, PlateError):
            raise line
        return line


@pytest.fixture
def told() -> list[str]:
    return []


def retries(times: int, pauses: list[float] | None = None) -> Retries:
    return Retries(times, sleep=(pauses if pauses is not None else []).append)


def test_an_answer_is_not_asked_for_twice(told) -> None:
    assert retries(3).call(Scripted("answer"), told.append) == "answer"
    assert told == []


@pytest.mark.parametrize("error", [ServerError("gone"), Overloaded("full")])
def test_a_call_that_met_no_capacity_is_sent_again(told, error: PlateError) -> None:
    assert retries(2).call(Scripted(error, error, "answer"), told.append) == "answer"
    assert told == [error, error]


def test_the_last_error_is_the_callers(told) -> None:
    with pytest.raises(Overloaded, match="full"):
        retries(1).call(Scripted(ServerError("gone"), Overloaded("full"), "late"), told.append)
    assert len(told) == 1


@pytest.mark.parametrize("error", [RequestError("no picture"), ModelError("broken")])
def test_an_error_that_would_come_again_is_not_tried_again(told, error: PlateError) -> None:
    with pytest.raises(type(error)):
        retries(5).call(Scripted(error, "answer"), told.append)
    assert told == []


def test_pauses_double_up_to_the_limit(told) -> None:
    pauses: list[float] = []
    script = Scripted(*[ServerError("gone")] * 7, "answer")
    Retries(7, first_s=1, longest_s=8, sleep=pauses.append).call(script, told.append)
    most = [1, 2, 4, 8, 8, 8, 8]
    assert all(top / 2 <= pause <= top for pause, top in zip(pauses, most, strict=True))


@pytest.mark.parametrize("times", [-1, 1.5, float("nan"), "3", None, True])
def test_only_a_whole_number_of_retries_is_taken(times) -> None:
    with pytest.raises(SettingsError, match="retries: wanted a whole number from 0, got"):
        Retries(times)


@pytest.mark.parametrize(
    ("retry", "pause_s"),
    [(0, 0.02), (1, 0.04), (3, 0.16), (4, 0.2), pytest.param(10_000, 0.2, id="no overflow")],
)
def test_pauses_double_up_to_the_longest(retry: int, pause_s: float) -> None:
    assert exponential_s(retry, 0.02, 0.2) == pytest.approx(pause_s)
