"""Plans, and the requests of each transport."""

from pathlib import Path

import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from orchestrator.errors import SettingsError
from orchestrator.networks.options import CapacityOptions
from workshop.benchmarks.bench.plan import (
    GRPC,
    HTTP_ENCODED,
    HTTP_RAW,
    IN_PROCESS,
    TRANSPORTS,
    Address,
    Plan,
    choose_transports,
    list_keys,
    locate,
    parse_numbers,
)
from workshop.benchmarks.bench.transports import build_request, connect
from workshop.benchmarks.pictures import Picture

OUT = Path("bench")
THERE = Address("a:1", "a:2")


@pytest.mark.parametrize("text", ["", "1,", "x", "1.5"])
def test_numbers_are_parsed_and_other_text_is_refused(text: str) -> None:
    assert parse_numbers("1,2, 16", "concurrency") == (1, 2, 16)
    with pytest.raises(SettingsError, match=r"plates: wanted whole numbers like 1,2,4, got '"):
        parse_numbers(text, "plates")


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
            {"address": THERE, "server": CapacityOptions(repository=OUT)},
            "repository, .* wanted",
            id="models",
        ),
        pytest.param(
            {"address": THERE, "server": CapacityOptions(pictures=2)},
            "pictures: wanted without",
            id="whose",
        ),
        pytest.param({"address": Address("a:1"), "transports": (GRPC,)}, "grpc-url:", id="where"),
    ],
)
def test_a_wrong_plan_is_refused(wrong: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Plan(out=OUT, **wrong)


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
        locate(*urls)


def test_urls_make_an_address_that_chooses_the_transports() -> None:
    metrics = "http://here:3/metrics"
    assert locate("here:1", "here:2", metrics) == Address("here:1", "here:2", metrics)
    assert locate(None, None, None) is None
    assert choose_transports(None) == choose_transports(THERE) == TRANSPORTS
    assert choose_transports(locate("here:1", None, None)) == (HTTP_RAW, HTTP_ENCODED, IN_PROCESS)
    assert not Plan(out=OUT, transports=(IN_PROCESS,)).is_served


def test_every_transport_gets_every_load() -> None:
    plan = Plan(out=OUT, transports=(HTTP_RAW, GRPC), concurrencies=(4, 1))
    cells = [(key.transport, key.concurrency) for key in list_keys(plan, ("a",))]
    assert {*cells} == {(name, count) for name in (HTTP_RAW, GRPC) for count in (1, 4)}


def test_a_report_has_the_options_that_are_not_the_usual_ones() -> None:
    plan = Plan(out=OUT, server=CapacityOptions(device="cpu", weights=OUT, pictures_on_gpu=True))
    assert plan.conditions.options == {
        "weights": "bench",
        "device": "cpu",
        "pictures_on_gpu": "True",
    }
    assert Plan(out=OUT).conditions.options == {}


PICTURE = Picture("grey", b"JPEG", np.full((2, 3, 3), 7, np.uint8))
NOWHERE = Address("127.0.0.1:1", "127.0.0.1:1")


def test_a_picture_goes_as_its_file_or_its_pixels() -> None:
    assert build_request(PICTURE, "http-encoded").body.endswith(b"\4\0\0\0JPEG")
    assert build_request(PICTURE, "http-raw").body.endswith(b"}" + bytes([7] * 18))
    message = service_pb2.ModelInferRequest.FromString(build_request(PICTURE, "grpc").body)
    assert [*message.raw_input_contents] == [bytes([7] * 18)]


def test_a_call_without_an_answer_has_its_status_and_the_reason() -> None:
    with connect("http-raw", PICTURE, NOWHERE) as send:
        assert send(0).error.startswith("lost: ConnectionRefusedError")
