import pytest

from orchestrator.host.backoff import exponential_s


@pytest.mark.parametrize(
    ("retry", "pause_s"),
    [(0, 0.02), (1, 0.04), (3, 0.16), (4, 0.2), pytest.param(10_000, 0.2, id="no overflow")],
)
def test_pauses_double_up_to_the_longest(retry: int, pause_s: float) -> None:
    assert exponential_s(retry, 0.02, 0.2) == pytest.approx(pause_s)
