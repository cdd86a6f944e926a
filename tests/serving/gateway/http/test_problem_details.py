import pytest

from orchestrator.errors import ModelError, PictureError, RequestError
from orchestrator.serving.gateway import errors
from orchestrator.serving.gateway.errors import Outcome, ServiceFull, outcome_of
from orchestrator.serving.gateway.http.problem_details import KINDS, anchor_of, headers_of, problem


def test_a_problem_says_what_kind_it_is_and_what_it_was_here() -> None:
    assert problem(outcome_of(PictureError("wanted a picture, got none"))) == {
        "type": "/docs#problem-picture",
        "title": "The picture cannot be used",
        "status": 400,
        "detail": "wanted a picture, got none",
        "reason": "picture",
    }


def test_a_problem_may_name_its_occurrence() -> None:
    assert problem(outcome_of(PictureError("")), "/requests/7")["instance"] == "/requests/7"


@pytest.mark.parametrize(
    ("outcome", "title"),
    [
        pytest.param(Outcome(405, "UNIMPLEMENTED", "other"), "Method Not Allowed", id="reason"),
        pytest.param(outcome_of(RequestError("")), "Bad Request", id="not with this status"),
        pytest.param(Outcome(499, "CANCELLED", "cancelled"), "The call failed", id="not HTTP's"),
    ],
)
def test_a_kind_that_is_not_described_has_https_title(outcome: Outcome, title: str) -> None:
    told = problem(outcome)
    assert (told["type"], told["title"]) == ("about:blank", title)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, id=kind.__name__) for kind in errors.GatewayError.__subclasses__()],
)
def test_every_refusal_is_described(kind: type[errors.GatewayError]) -> None:
    outcome = outcome_of(kind("wanted one thing, got another"))
    assert problem(outcome)["type"] == f"/docs#{anchor_of(outcome.reason)}"


def test_every_kind_has_an_anchor_of_its_own_without_blanks() -> None:
    anchors = [anchor_of(reason) for reason in KINDS]
    assert len({*anchors}) == len(KINDS)
    assert not [anchor for anchor in anchors if " " in anchor]
    assert problem(outcome_of(ModelError("")))["type"] == "/docs#problem-model"


def test_an_answer_without_a_time_to_wait_has_no_headers() -> None:
    assert headers_of(outcome_of(PictureError(""))) == {}


@pytest.mark.parametrize(
    ("seconds", "header"),
    [
        pytest.param(0.0, "0", id="at once"),
        pytest.param(0.01, "1", id="rounded up"),
        pytest.param(2.0, "2", id="whole"),
    ],
)
def test_whole_seconds_are_told(seconds: float, header: str) -> None:
    assert headers_of(outcome_of(ServiceFull("", seconds))) == {"Retry-After": header}


def test_a_client_without_a_key_is_told_how_to_send_one() -> None:
    assert headers_of(outcome_of(errors.Unauthenticated(""))) == {"WWW-Authenticate": "Bearer"}
