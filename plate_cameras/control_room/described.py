"""Descriptions of operations, from which the API's documentation is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel


@dataclass(frozen=True)
class Described:
    """The description of an operation.

    Attributes:
        id: Unique name of the operation.
        summary: The operation in a few words.
        tag: Part of the documentation.
        answer: Schema of the JSON answer; None for other answers.
        query: Schema of the query; None if it takes none.
        body: Schema of the JSON body; None if it takes none.
        text_body: Content type of a body that is not JSON.
        max_text_bytes: Largest size of such a body.
        media: Other content types of the answer, with what they hold.
        status: HTTP status of the answer.
        creates: True if the status may also be 201.
        problems: Statuses of failures beside those that every operation has.
        is_searching: True if it takes a query and a reason.
        is_public: True if it needs no key.
    """

    id: str
    summary: str
    tag: str
    answer: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    text_body: str = ""
    max_text_bytes: int = 0
    media: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    creates: bool = False
    problems: tuple[str, ...] = ()
    is_searching: bool = True
    is_public: bool = False
