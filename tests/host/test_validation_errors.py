"""Errors of pydantic in our own words."""

from datetime import datetime
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticKnownError
from pydantic_core._pydantic_core import list_all_errors

from orchestrator.host.validation_errors import describe_invalid


def to_even(value: object) -> object:
    raise ValueError("wanted an even number")


class Wanted(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    edits: int = Field(default=0, ge=0, le=2)
    kind: Literal["car", "bus"] = "car"
    at: datetime | None = None
    share: float = 0.5
    notes: list[Annotated[str, Field(max_length=3)]] = Field(default=[], max_length=2)
    even: Annotated[int, BeforeValidator(to_even)] = 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "name: wanted one, got none"),
        ({"name": 3}, "name: wanted a text, got 3"),
        ({"name": "a", "colour": 1}, "colour: wanted no field of this name, got 1"),
        ({"name": "a", "edits": 3}, "edits: wanted at most 2, got 3"),
        ({"name": "a", "edits": "x"}, "edits: wanted a whole number, got 'x'"),
        ({"name": "a", "share": "x"}, "share: wanted a number, got 'x'"),
        ({"name": "a", "kind": "van"}, "kind: wanted 'car' or 'bus', got 'van'"),
        ({"name": "a", "at": "x"}, "at: wanted a time such as 2026-05-17T09:30:00+03:00, got 'x'"),
        ({"name": "a", "notes": {}}, "notes: wanted a list, got {}"),
        ({"name": "a", "notes": ["a"] * 3}, "notes: wanted at most 2 items, got ['a', 'a', 'a']"),
        ({"name": "a", "notes": ["abcd"]}, "notes.0: wanted at most 3 characters, got 'abcd'"),
        ({"name": "a", "even": 3}, "even: wanted an even number, got 3"),
        ([], "wanted an object, got []"),
    ],
)
def test_an_error_says_what_was_wanted_and_what_came(values: Any, message: str) -> None:
    with pytest.raises(ValidationError) as failure:
        Wanted.model_validate(values)
    assert describe_invalid(failure.value.errors()) == message


def test_a_secret_is_not_shown() -> None:
    with pytest.raises(ValidationError) as failure:
        Wanted.model_validate({"name": 123456})
    told = describe_invalid(failure.value.errors(), hides_values=True)
    assert told == "name: wanted a text"


@pytest.mark.parametrize("kind", list_all_errors(), ids=lambda one: one["type"])
def test_no_error_is_told_in_the_words_of_the_library(kind: Any) -> None:
    context = kind.get("example_context") or {}
    error = PydanticKnownError(kind["type"], context)
    told = describe_invalid([{"type": kind["type"], "loc": ("a",), "input": 1, "ctx": context}])
    assert told.startswith("a: wanted ")
    assert error.message() not in told
