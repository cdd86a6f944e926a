"""Records of a request for operators: metrics, the log, and ids shared with the client."""

import json
import re
import time
import urllib.request
import uuid
from collections.abc import Callable
from contextlib import suppress

import pytest

from orchestrator import PlateClient
from orchestrator.contract import PROBE
from orchestrator.errors import RequestError
from orchestrator.serving.supervisor.triton_server import Server
from orchestrator.triton.metrics import ERRORS, FAMILIES, STAGE
from tests.integration.conftest import GREY
from tests.samples import STREET
from tests.waiting import until

SERIES = re.compile(r"^(plates_\w+(?:\{[^}]*\})?) (\S+)$", re.MULTILINE)


@pytest.fixture
def measure_growth(server: Server) -> Callable[[], dict[str, float]]:
    """Growth of the server's counters since the test began, by series."""
    old_values = scrape(server)
    return lambda: {name: value - old_values[name] for name, value in scrape(server).items()}


def scrape(server: Server) -> dict[str, float]:
    text = urllib.request.urlopen(server.options.metrics_url, timeout=60).read().decode()
    return {name: float(value) for name, value in SERIES.findall(text)}


def log_lines_of(server: Server, request_id: str) -> list[dict[str, str]]:
    """Return the lines of the server's log about a request, once they are complete.

    A thread reads the log. The lines are complete when those of a later failed request appear.
    """
    fence = uuid.uuid4().hex
    with PlateClient(server.options.http_url) as client, pytest.raises(RequestError):
        client.recognize(b"junk", request_id=fence)
    until(lambda: _lines(server, fence), "a failed request in the log")
    return _lines(server, request_id)


def _lines(server: Server, request_id: str) -> list[dict[str, str]]:
    lines = [json.loads(line) for line in list(server.log) if line.startswith("{")]
    return [line for line in lines if line["request_id"] == request_id]


def test_every_family_is_exported_with_all_its_labels(server) -> None:
    names = set(scrape(server))
    assert {re.sub(r"(_bucket|_sum|_count)?(\{.*)?$", "", name) for name in names} == {
        family.name for family in FAMILIES
    }
    assert {f'plates_errors_total{{reason="{reason}"}}' for reason in ERRORS.values} <= names
    assert {f'plates_stage_seconds_sum{{stage="{stage}"}}' for stage in STAGE.values} <= names


def test_an_answer_is_counted(client, measure_growth) -> None:
    plates = client.recognize(STREET)
    growth = measure_growth()
    assert growth["plates_pictures_total"] == 1
    assert growth["plates_found_total"] == growth["plates_read_total"] == len(plates) == 3
    assert growth["plates_early_exits_total"] == 0
    assert growth["plates_text_score_sum"] == pytest.approx(
        sum(plate.text_score for plate in plates), abs=1e-4
    )
    assert growth["plates_width_px_sum"] == pytest.approx(
        sum(plate.xyxy[2] - plate.xyxy[0] for plate in plates), abs=0.1
    )
    stages = [growth[f'plates_stage_seconds_sum{{stage="{stage}"}}'] for stage in STAGE.values]
    assert all(seconds > 0 for seconds in stages)
    assert sum(stages) == pytest.approx(growth["plates_request_seconds_sum"], rel=0.01)


def test_a_picture_without_plates_is_an_early_exit(client, measure_growth) -> None:
    client.recognize(GREY)
    growth = measure_growth()
    assert growth["plates_early_exits_total"] == growth["plates_pictures_total"] == 1
    assert growth['plates_stage_seconds_count{stage="lprnet"}'] == 0


@pytest.mark.parametrize("picture", [STREET, b"junk"])
def test_a_health_check_is_not_counted(client, measure_growth, picture: str | bytes) -> None:
    with suppress(RequestError):
        client.recognize(picture, request_id=PROBE)
    assert set(measure_growth().values()) == {0}


def test_a_good_request_is_not_logged(client, server) -> None:
    client.recognize(STREET, request_id="quiet")
    assert log_lines_of(server, "quiet") == []


@pytest.mark.parametrize(
    ("picture", "parameters", "reason"),
    [
        pytest.param(b"junk", {}, "picture", id="picture"),
        pytest.param(GREY, {"roi": (5, 5, 5, 5)}, "parameter", id="parameter"),
    ],
)
def test_a_failed_request_is_counted_and_logged_once(
    client, server, measure_growth, picture, parameters, reason: str
) -> None:
    name = f"gate-7 {reason} {time.monotonic_ns()}"
    with pytest.raises(RequestError, match=rf"\(request {name}\)$") as caught:
        client.recognize(picture, request_id=name, **parameters)
    assert measure_growth()[f'plates_errors_total{{reason="{reason}"}}'] == 1
    (line,) = log_lines_of(server, name)
    assert line["reason"] == reason
    assert str(caught.value) == f"{line['message']} (request {name})"


def test_a_call_without_an_id_gets_one(client, server) -> None:
    with pytest.raises(RequestError) as caught:
        client.recognize(b"junk")
    (request_id,) = re.findall(r"\(request ([0-9a-f]{32})\)$", str(caught.value))
    assert len(log_lines_of(server, request_id)) == 1
