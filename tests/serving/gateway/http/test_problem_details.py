"""Errors as problem details of RFC 9457, and their headers."""

import pytest

from orchestrator.errors import ModelError, PictureError, PlateError, RequestError
from orchestrator.serving.gateway import errors
from orchestrator.serving.gateway.errors import Outcome, ServiceFull, outcome_of
from orchestrator.serving.gateway.http.problem_details import KINDS, anchor_of, headers_of, problem


def test_a_problem_says_what_kind_it_is_and_what_it_was_here() -> None:
    assert problem(outcome_of(PictureError("wanted a picture, got none")), "/requests/7") == {
        "type": "/docs#problem-picture",
        "title": "The picture cannot be used",
        "status": 400,
        "detail": "wanted a picture, got none",
        "reason": "picture",
        "instance": "/requests/7",
    }
    assert "instance" not in problem(outcome_of(PictureError("")))


@pytest.mark.parametrize(
    ("outcome", "title"),
    [
        pytest.param(Outcome(405, "UNIMPLEMENTED", "other"), "Method Not Allowed", id="reason"),
        pytest.param(outcome_of(RequestError("")), "Bad Request", id="not with this status"),
        pytest.param(Outcome(499, "CANCELLED", "cancelled"), "The call failed", id="not HTTP's"),
    ],
)
def test_a_kind_that_is_not_described_has_https_title(outcome: Outcome, title: str) -> None:
    members = problem(outcome)
    assert (members["type"], members["title"]) == ("about:blank", title)


@pytest.mark.parametrize("kind", errors.GatewayError.__subclasses__())
def test_every_refusal_is_described(kind: type[errors.GatewayError]) -> None:
    outcome = outcome_of(kind("wanted one thing, got another"))
    assert problem(outcome)["type"] == f"/docs#{anchor_of(outcome.reason)}"


def test_a_lack_of_memory_is_no_fault_of_the_caller() -> None:
    outcome = outcome_of(MemoryError())
    assert (outcome.status, outcome.code, outcome.reason) == (503, "UNAVAILABLE", "overloaded")
    assert outcome.retry_after_s


def test_every_kind_has_an_anchor_of_its_own_without_blanks() -> None:
    anchors = [anchor_of(reason) for reason in KINDS]
    assert len({*anchors}) == len(KINDS)
    assert not [anchor for anchor in anchors if " " in anchor]
    assert problem(outcome_of(ModelError("")))["type"] == "/docs#problem-model"


@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (PictureError(""), {}),
        (ServiceFull("", 0.0), {"Retry-After": "0"}),
        (ServiceFull("", 0.01), {"Retry-After": "1"}),  # rounded up
        (ServiceFull("", 2.0), {"Retry-After": "2"}),
        (errors.Unauthenticated(""), {"WWW-Authenticate": "Bearer"}),
    ],
)
def test_headers_tell_when_to_come_back_and_how_to_send_a_key(
    error: PlateError, headers: dict[str, str]
) -> None:
    assert headers_of(outcome_of(error)) == headers
