"""REST requests: pictures in a body, and their plates as JSON. No web server is needed."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
from pydantic import ValidationError

from orchestrator.contract import (
    ENCODED,
    ENCODED_CROP,
    MODEL,
    OF_A_READING,
    OUTPUTS,
    PROBE,
    STAGE_SECONDS,
    Arrays,
    from_arrays,
    stages_of,
)
from orchestrator.errors import (
    Cancelled,
    ModelError,
    Overloaded,
    ParameterError,
    PlateError,
    ServerError,
)
from orchestrator.gateway.errors import (
    DeadlineExceeded,
    QuotaExceeded,
    UnsupportedMedia,
    outcome_of,
)
from orchestrator.gateway.http.multipart import Part, parse, shown
from orchestrator.gateway.http.problem_details import problem
from orchestrator.gateway.http.schemas import (
    FailedPicture,
    Model,
    Problem,
    Readings,
    ReadPicture,
    Recognition,
    RecognizedPicture,
)
from orchestrator.gateway.options import Limits
from orchestrator.protocol.arrays import to_array
from orchestrator.protocol.inference import InferenceRequest, InferenceResponse, PictureFile

Infer = Callable[[InferenceRequest], Awaitable[InferenceResponse]]

FORM = "multipart/form-data"
FILE = "application/octet-stream"
UNSAID = ("", FILE, "application/x-www-form-urlencoded")
"""Content types that carry no information. curl sends the last one with any bytes."""
OF_THE_CALL = (Overloaded, ParameterError, QuotaExceeded, ServerError)
"""Errors that are not about one picture, but about the service, the quota or the query."""
LONGEST_ID = 128

A = TypeVar("A", bound=Model)


@dataclass(frozen=True)
class RestRequest:
    """A caller's request.

    Attributes:
        body: A picture file, or a form with several.
        content_type: The header Content-Type; empty for none.
        query: Names and values of the query, decoded, in their order.
        id: Request id.
        trace: W3C trace headers.
    """

    body: bytes = field(repr=False)
    content_type: str = ""
    query: Sequence[tuple[str, str]] = ()
    id: str = ""
    trace: Mapping[str, str] = field(default_factory=dict)


def request_id(given: str | None) -> str:
    """Return a caller's request id, or a new one. Callers may not use the id of health checks."""
    is_usable = given and given.isprintable() and len(given) <= LONGEST_ID and given != PROBE
    return given if given and is_usable else uuid.uuid4().hex


async def recognize(sent: RestRequest, infer: Infer, limits: Limits) -> Recognition:
    """Find and read the plates in pictures, one after the other.

    Raises:
        RequestError: A parameter or the form is wrong, or the only picture is.
        GatewayError: The content type is not understood, or the service has no room.
        PlateError: The only picture has no answer.
    """
    parameters, outputs = _parameters_of(sent.query), (*OUTPUTS, STAGE_SECONDS)

    async def answer(picture: Part, id: str) -> RecognizedPicture:
        inputs = (PictureFile(ENCODED, picture.content),)
        request = InferenceRequest(MODEL, inputs, outputs, "", id, parameters, sent.trace)
        arrays = _arrays_of(await infer(request))
        plates, seconds = tuple(from_arrays(arrays)), stages_of(arrays)
        return _validated(RecognizedPicture, name=picture.filename, plates=plates, seconds=seconds)

    return Recognition(
        pictures=await _each(_pictures_of(sent, limits.pictures), sent.id, answer, limits.call_s)
    )


async def read(sent: RestRequest, infer: Infer, limits: Limits) -> Readings:
    """Read tight crops of plates, one after the other.

    Raises:
        RequestError: A parameter or the form is wrong, or the only crop is.
        GatewayError: The content type is not understood, or the service has no room.
        PlateError: The only crop has no answer.
    """
    parameters, outputs = _parameters_of(sent.query), ("coordinates", *OF_A_READING)

    async def answer(crop: Part, id: str) -> ReadPicture:
        inputs = (PictureFile(ENCODED_CROP, crop.content),)
        request = InferenceRequest(MODEL, inputs, outputs, "", id, parameters, sent.trace)
        plates = from_arrays(_arrays_of(await infer(request)), outputs)
        if len(plates) != 1:
            raise ModelError(f"answer: wanted one reading of the crop, got {len(plates)}")
        return _validated(ReadPicture, name=crop.filename, plate=plates[0])

    return Readings(
        pictures=await _each(_pictures_of(sent, limits.pictures), sent.id, answer, limits.call_s)
    )


def _parameters_of(query: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the request parameters. Their values are checked with the rest of the request."""
    for name, count in Counter(name for name, _ in query).items():
        if count > 1:
            raise ParameterError(f"parameters: wanted each once, got {shown(name)} {count} times")
    return dict(query)


def _pictures_of(sent: RestRequest, most: int) -> list[Part]:
    kind = sent.content_type.partition(";")[0].strip().lower()
    if kind == FORM:
        return parse(sent.body, sent.content_type, most)
    if kind not in UNSAID and not kind.startswith("image/"):
        raise UnsupportedMedia(f"content type: wanted image/*, {FILE} or {FORM}, got {shown(kind)}")
    return [Part("", sent.body)]


async def _each(
    pictures: Sequence[Part],
    id: str,
    answer: Callable[[Part, str], Awaitable[A]],
    within_s: float,
) -> tuple[A | FailedPicture, ...]:
    """Answer pictures one by one. One of several may fail alone. All share one timeout."""
    if len(pictures) == 1:
        return (await answer(pictures[0], id),)
    answers: list[A | FailedPicture] = []
    deadline = anyio.current_time() + within_s
    for number, picture in enumerate(pictures):
        try:
            answers.append(await _by(deadline, answer(picture, f"{id}/{number}")))
        except Cancelled:
            raise
        except PlateError as error:
            if number == 0 and isinstance(error, OF_THE_CALL):
                raise
            failure = Problem.model_validate(problem(outcome_of(error)))
            answers.append(FailedPicture(name=picture.filename, problem=failure))
    return tuple(answers)


async def _by(deadline: float, answer: Awaitable[A]) -> A:
    """Return an answer that comes before a deadline on the loop's clock.

    Raises:
        DeadlineExceeded: The answer does not come before the deadline.
    """
    with anyio.CancelScope(deadline=deadline):
        return await answer
    raise DeadlineExceeded(
        "form: wanted all of its pictures answered within the time of one call, got fewer"
    )


def _arrays_of(response: InferenceResponse) -> Arrays:
    return {tensor.name: to_array(tensor) for tensor in response.outputs}


def _validated(kind: type[A], **values: Any) -> A:
    """Return an answer that was checked against the API's schema."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ModelError(f"answer: wanted {where} as described, got: {first['msg']}") from error
