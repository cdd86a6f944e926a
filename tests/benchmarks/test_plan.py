from pathlib import Path

import pytest

from benchmarks.plan import (
    GRPC,
    HTTP_ENCODED,
    HTTP_RAW,
    IN_PROCESS,
    TRANSPORTS,
    Address,
    Task,
    address,
    grid,
    numbers,
    transports_of,
)
from orchestrator.errors import SettingsError

OUT = Path("bench")


def test_numbers_are_parsed() -> None:
    assert numbers("1,2, 16", "concurrency") == (1, 2, 16)


@pytest.mark.parametrize("text", ["", "1,", "x", "1.5"])
def test_other_text_than_numbers_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"plates: wanted whole numbers like 1,2,4, got '"):
        numbers(text, "plates")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param({"plates": (101,)}, "plates: wanted .* 0 to 100, got 101", id="many plates"),
        pytest.param({"concurrencies": (0,)}, "concurrency: wanted .* 1 to 256, got 0", id="none"),
        pytest.param({"concurrencies": (2, 2)}, "concurrency: wanted different .* 2,2", id="twice"),
        pytest.param({"transports": ("pigeon",)}, "transport: wanted .*, got pigeon", id="pigeon"),
        pytest.param({"seconds": 0.0}, "seconds: wanted 0.1 to 3600, got 0", id="no time"),
        pytest.param({"rounds": 0}, "rounds: wanted 1 to 1000, got 0", id="no rounds"),
        pytest.param(
            {"address": Address("a:1", "a:2"), "repository": OUT},
            "model-repository, pictures: wanted without",
            id="whose models",
        ),
        pytest.param(
            {"address": Address("a:1", "a:2"), "pictures": 2},
            "pictures: wanted without --url",
            id="whose pictures",
        ),
        pytest.param(
            {"address": Address("a:1"), "transports": (GRPC,)},
            "grpc-url: wanted host:port",
            id="gRPC where",
        ),
    ],
)
def test_a_wrong_task_is_refused(wrong: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Task(OUT, **wrong)


def test_every_round_has_every_cell_once() -> None:
    task = Task(OUT, concurrencies=(1, 4), transports=(HTTP_RAW, HTTP_ENCODED, IN_PROCESS))
    first, second = (grid(task, ["a", "b"], round_) for round_ in (0, 1))
    assert len(set(first)) == len(first) == 2 * 2 * 3
    assert set(first) == set(second)


def test_a_thin_grid_keeps_two_transports_at_every_concurrency() -> None:
    keys = grid(Task(OUT, thin=True), ["a"], 0)
    assert {key.concurrency for key in keys if key.transport == GRPC} == {1, 4}
    assert {key.concurrency for key in keys if key.transport == IN_PROCESS} == {1, 2, 4, 8, 16}
    assert len(keys) == 2 * 5 + 3 * 2


def test_rounds_differ_in_their_order_and_repeat_themselves() -> None:
    task = Task(OUT)
    assert grid(task, ["a", "b"], 0) != grid(task, ["a", "b"], 1)
    assert grid(task, ["a", "b"], 1) == grid(task, ["a", "b"], 1)


def test_the_transports_of_a_block_are_neighbours() -> None:
    keys = grid(Task(OUT, concurrencies=(1, 4)), ["a", "b"], 0)
    blocks = [keys[start : start + len(TRANSPORTS)] for start in range(0, len(keys), 5)]
    assert [len({(key.picture, key.concurrency) for key in block}) for block in blocks] == [1] * 4


def test_only_the_bound_needs_no_server() -> None:
    assert not Task(OUT, transports=(IN_PROCESS,)).is_served
    assert Task(OUT, transports=(IN_PROCESS, HTTP_RAW)).is_served


def test_without_urls_there_is_no_running_server() -> None:
    assert address(None, None, None) is None


def test_urls_make_an_address() -> None:
    metrics = "http://here:3/metrics"
    assert address("here:1", "here:2", metrics) == Address("here:1", "here:2", metrics)
    assert address("here:1", None, None) == Address("here:1")


@pytest.mark.parametrize(
    ("urls", "message"),
    [
        pytest.param(("http://here:1", None, None), "^url: wanted host:port, got http", id="http"),
        pytest.param(("here:1", "grpc://x:2", None), "url: wanted host:port, got grpc", id="grpc"),
        pytest.param((None, "here:2", None), "url: wanted with --grpc-url", id="without url"),
    ],
)
def test_wrong_urls_are_refused(urls: tuple, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        address(*urls)


def test_transports_are_those_that_the_address_allows() -> None:
    assert transports_of(None) == TRANSPORTS
    assert transports_of(Address("a:1", "a:2")) == TRANSPORTS
    assert transports_of(Address("a:1")) == (HTTP_RAW, HTTP_ENCODED, IN_PROCESS)
