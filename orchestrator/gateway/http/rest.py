"""REST calls: pictures in a body, and their plates as JSON. It does not depend on the server."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import numpy as np
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
    PictureError,
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
    plates_of,
    reading_of,
)
from orchestrator.gateway.options import Limits
from orchestrator.protocol.arrays import to_array, to_tensor
from orchestrator.protocol.inference import InferenceRequest, InferenceResponse
from orchestrator.settings import READER_PARAMETERS, REQUEST_PARAMETERS, check_parameters

Infer = Callable[[InferenceRequest], Awaitable[InferenceResponse]]

FORM = "multipart/form-data"
FILE = "application/octet-stream"
UNSAID = ("", FILE, "application/x-www-form-urlencoded")
"""Content types that carry no information. curl sends the last one with any bytes."""
OF_THE_SERVICE = (Overloaded, QuotaExceeded, ServerError)
"""Errors that are not about a picture, but about the service or the quota."""
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
        Refusal: The content type is not understood, or the service has no room.
        PlateError: The only picture has no answer.
    """
    parameters = _parameters_of(sent.query, REQUEST_PARAMETERS)

    async def answer(picture: Part, id: str) -> RecognizedPicture:
        file = np.array([picture.content], np.object_)
        inputs = (to_tensor(ENCODED, file),)
        outputs = (*OUTPUTS, STAGE_SECONDS)
        call = InferenceRequest(MODEL, inputs, outputs, "", id, parameters, sent.trace)
        arrays = _arrays_of(await infer(call))
        found, seconds = plates_of(from_arrays(arrays)), stages_of(arrays)
        return _judged(RecognizedPicture, name=picture.filename, plates=found, seconds=seconds)

    return Recognition(
        pictures=await _each(_pictures_of(sent, limits.pictures), sent.id, answer, limits.call_s)
    )


async def read(sent: RestRequest, infer: Infer, limits: Limits) -> Readings:
    """Read tight crops of plates, one after the other.

    Raises:
        RequestError: A parameter or the form is wrong, or the only crop is.
        Refusal: The content type is not understood, or the service has no room.
        PlateError: The only crop has no answer.
    """
    parameters = _parameters_of(sent.query, READER_PARAMETERS)

    async def answer(crop: Part, id: str) -> ReadPicture:
        file = np.array([crop.content], np.object_)
        inputs = (to_tensor(ENCODED_CROP, file),)
        outputs = ("coordinates", *OF_A_READING)
        call = InferenceRequest(MODEL, inputs, outputs, "", id, parameters, sent.trace)
        plates = from_arrays(_arrays_of(await infer(call)), outputs)
        if len(plates) != 1:
            raise ModelError(f"answer: wanted one reading of the crop, got {len(plates)}")
        return _judged(ReadPicture, name=crop.filename, plate=reading_of(plates[0]))

    return Readings(
        pictures=await _each(_pictures_of(sent, limits.pictures), sent.id, answer, limits.call_s)
    )


def _parameters_of(query: Sequence[tuple[str, str]], known: Sequence[str]) -> dict[str, str]:
    """Return the request parameters, checked by the rules of the model."""
    for name, count in Counter(name for name, _ in query).items():
        if count > 1:
            raise ParameterError(f"parameters: wanted each once, got {shown(name)} {count} times")
    parameters = dict(query)
    check_parameters(parameters, known)
    return parameters


def _pictures_of(sent: RestRequest, most: int) -> list[Part]:
    kind = sent.content_type.partition(";")[0].strip().lower()
    if kind == FORM:
        return parse(sent.body, sent.content_type, most)
    if kind not in UNSAID and not kind.startswith("image/"):
        raise UnsupportedMedia(f"content type: wanted image/*, {FILE} or {FORM}, got {shown(kind)}")
    return [Part("", "", sent.body)]


async def _each(
    pictures: Sequence[Part],
    id: str,
    answer: Callable[[Part, str], Awaitable[A]],
    within_s: float,
) -> tuple[A | FailedPicture, ...]:
    """Answer pictures one by one. One of several may fail alone. All share one timeout."""
    if len(pictures) == 1:
        return (await answer(_not_empty(pictures[0]), id),)
    answers: list[A | FailedPicture] = []
    deadline = anyio.current_time() + within_s
    for number, picture in enumerate(pictures):
        try:
            answers.append(await _by(deadline, answer(_not_empty(picture), f"{id}/{number}")))
        except Cancelled:
            raise
        except PlateError as error:
            if number == 0 and isinstance(error, OF_THE_SERVICE):
                raise
            told = Problem.model_validate(problem(outcome_of(error)))
            answers.append(FailedPicture(name=picture.filename, problem=told))
    return tuple(answers)


async def _by(deadline: float, answer: Awaitable[A]) -> A:
    """Return an answer that comes before a deadline on the loop's clock.

    Raises:
        Late: The answer does not come before the deadline.
    """
    with anyio.CancelScope(deadline=deadline):
        return await answer
    raise DeadlineExceeded(
        "form: wanted all of its pictures answered within the time of one call, got fewer"
    )


def _not_empty(picture: Part) -> Part:
    if not picture.content:
        raise PictureError("picture: wanted a JPEG, PNG, WebP or BMP file, got 0 bytes")
    return picture


def _arrays_of(answer: InferenceResponse) -> Arrays:
    return {tensor.name: to_array(tensor) for tensor in answer.outputs}


def _judged(kind: type[A], **values: Any) -> A:
    """Return an answer that was checked against the API's schema."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ModelError(f"answer: wanted {where} as described, got: {first['msg']}") from error
