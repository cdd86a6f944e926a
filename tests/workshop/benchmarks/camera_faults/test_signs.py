"""Signs by which an operator sees a fault."""

from workshop.benchmarks.camera_faults.report import Told, counts, is_zero, says, shows

TOLD = Told(
    log="a decoder has ended\n",
    before={'failures_total{sink="a"}': 2.0, "up": 1.0},
    samples=[{'failures_total{sink="a"}': 2.0, "up": 0.0}, {'failures_total{sink="a"}': 3.0}],
)


def test_a_line_of_the_log_is_a_sign() -> None:
    assert says("decoder has")(TOLD)
    assert not says("broker")(TOLD)


def test_a_counter_that_has_grown_is_a_sign() -> None:
    assert counts("failures_total")(TOLD)
    assert not counts("up")(TOLD)
    assert counts("new")(Told("", {}, [{"new_total": 1.0}]))


def test_a_gauge_that_was_bad_for_a_moment_is_a_sign() -> None:
    assert shows("up", is_zero)(TOLD)
    assert not shows("failures", is_zero)(TOLD)
