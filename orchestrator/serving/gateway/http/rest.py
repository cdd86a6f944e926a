"""REST requests: pictures in a body, and their plates as JSON. No web server is needed."""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from typing import Any, TypeVar

import anyio
from pydantic import ValidationError

from orchestrator.contract import (
    ENCODED,
    ENCODED_CROP,
    MODEL,
    OUTPUTS,
    PROBE,
    STAGE_SECONDS,
    rows_of,
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
from orchestrator.host.validation_errors import describe_invalid
from orchestrator.imaging.files import CUT_NOTE
from orchestrator.serving.gateway.errors import (
    DeadlineExceeded,
    QuotaExceeded,
    UnsupportedMedia,
    outcome_of,
)
from orchestrator.serving.gateway.http.labels import LABELS, NO_LABELS, labels_of
from orchestrator.serving.gateway.http.multipart import Form, Part, parse, sanitize
from orchestrator.serving.gateway.http.problem_details import problem
from orchestrator.serving.gateway.http.schemas import (
    DECIMALS,
    FailedPicture,
    Model,
    Plate,
    Problem,
    Reading,
    Readings,
    ReadPicture,
    Recognition,
    RecognizedPicture,
)
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.protocol.arrays import to_arrays
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, PictureFile

Infer = Callable[[InferenceRequest], Awaitable[InferenceResponse]]

FORM = "multipart/form-data"
FILE = "application/octet-stream"
OF_CURL = "application/x-www-form-urlencoded"
UNSAID = ("", FILE, OF_CURL)
"""Content types that carry no information. curl sends the last one with any bytes."""
CURL_HINT = "; with curl write --data-binary @FILE: -d changes files, without @ the name is sent"
OF_THE_CALL = (Overloaded, ParameterError, QuotaExceeded, ServerError)
"""Errors that are not about one picture, but about the service, the quota or the query."""
MAX_ID_CHARACTERS = 128
NOT_OF_A_CROP = ("detection_scores", "corners")
"""Outputs that mean nothing for a tight crop of a plate."""

AnswerT = TypeVar("AnswerT", bound=Model)


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


@dataclass(frozen=True)
class RestCall:
    """A request, taken apart.

    Attributes:
        pictures: At least one.
        requests: The request to the model for each picture.
        header: Fields of the answer that are about the call: its id, and the caller's labels.
        hint: End of the message about a picture that cannot be used; empty for none.
    """

    pictures: Sequence[Part]
    requests: Sequence[InferenceRequest]
    header: Mapping[str, str]
    hint: str


def request_id(text: str | None) -> str:
    """Return a caller's request id, or a new one. Callers may not use the id of health checks."""
    is_usable = text and text.isprintable() and len(text) <= MAX_ID_CHARACTERS and text != PROBE
    return text if text and is_usable else uuid.uuid4().hex


async def recognize(
    request: RestRequest, infer: Infer, limits: Limits, outputs: Sequence[str] = tuple(OUTPUTS)
) -> Recognition:
    """Find and read the plates in pictures, one after the other.

    Args:
        request: The caller's request.
        infer: Forwards a request to the model.
        limits: The limits of a call.
        outputs: Outputs of the model about plates.

    Raises:
        RequestError: A parameter or the form is wrong, or the only picture is.
        GatewayError: The content type is not understood, or the service has no room.
        PlateError: The only picture has no answer.
    """
    call = _take_apart(request, ENCODED, (*outputs, STAGE_SECONDS), limits)
    return Recognition(**await _answer(call, infer, RecognizedPicture, _plates_of, limits.call_s))


async def read(
    request: RestRequest, infer: Infer, limits: Limits, outputs: Sequence[str] = tuple(OUTPUTS)
) -> Readings:
    """Read tight crops of plates, one after the other; see `recognize`.

    Raises:
        RequestError: A parameter or the form is wrong, or the only crop is.
        GatewayError: The content type is not understood, or the service has no room.
        PlateError: The only crop has no answer.
    """
    names = tuple(name for name in outputs if name not in NOT_OF_A_CROP)
    call = _take_apart(request, ENCODED_CROP, names, limits)
    reading_of = partial(_reading_of, names)
    return Readings(**await _answer(call, infer, ReadPicture, reading_of, limits.call_s))


def _plates_of(response: InferenceResponse) -> dict[str, Any]:
    arrays = to_arrays(response.outputs)
    plates = tuple(map(Plate.fields_of, rows_of(arrays, decimals=DECIMALS)))
    return {"plates": plates, "seconds": stages_of(arrays)}


def _reading_of(names: Sequence[str], response: InferenceResponse) -> dict[str, Any]:
    plates = rows_of(to_arrays(response.outputs), names, DECIMALS)
    if len(plates) != 1:
        raise ModelError(f"answer: wanted one reading of the crop, got {len(plates)}")
    return {"plate": Reading.fields_of(plates[0])}


def _take_apart(
    request: RestRequest, input_name: str, outputs: tuple[str, ...], limits: Limits
) -> RestCall:
    """Return a request's pictures, parameters and labels. The labels are checked here.

    Raises:
        RequestError: The form is wrong, a parameter comes twice, or a label is wrong.
        UnsupportedMedia: The content type is not understood.
    """
    kind = request.content_type.partition(";")[0].strip().lower()
    if kind not in (FORM, *UNSAID) and not kind.startswith("image/"):
        raise UnsupportedMedia(
            f"content type: wanted image/*, {FILE} or {FORM}, got {sanitize(kind)}"
        )
    query = _each_once(request.query) if request.query else {}
    form = Form((Part("", request.body),))
    if kind == FORM:
        form = parse(request.body, request.content_type, limits.pictures)
    labels = labels_of(query, form.labels) if query or form.labels else NO_LABELS
    parameters = {name: value for name, value in query.items() if name not in LABELS}
    is_single, requests = len(form.pictures) == 1, []
    for number, picture in enumerate(form.pictures):
        id = request.id if is_single else f"{request.id}/{number}"
        inputs = (PictureFile(input_name, picture.content),)
        requests.append(InferenceRequest(MODEL, inputs, outputs, "", id, parameters, request.trace))
    hint = CURL_HINT if kind == OF_CURL else ""
    return RestCall(form.pictures, requests, {"request_id": request.id, **vars(labels)}, hint)


def _each_once(query: Sequence[tuple[str, str]]) -> dict[str, str]:
    for name, count in Counter(name for name, _ in query).items():
        if count > 1:
            raise ParameterError(
                f"parameters: wanted each once, got {sanitize(name)} {count} times"
            )
    return dict(query)


async def _answer(
    call: RestCall,
    infer: Infer,
    kind: type[AnswerT],
    fields_of: Callable[[InferenceResponse], dict[str, Any]],
    within_s: float,
) -> dict[str, Any]:
    """Return the fields of an answer. One of several pictures may fail alone.

    All pictures share one timeout.
    """
    answers: list[AnswerT | FailedPicture] = []
    is_single = len(call.requests) == 1
    deadline = math.inf if is_single else anyio.current_time() + within_s
    for picture, request in zip(call.pictures, call.requests, strict=True):
        try:
            response = await (infer(request) if is_single else _by(deadline, infer(request)))
            fields, checked_request = fields_of(response), response.request
            assert checked_request is not None
            assert checked_request.header is not None
            width, height = checked_request.header.upright_wh
            fields |= {"name": picture.filename, "width": width, "height": height}
            fields |= {"note": CUT_NOTE if checked_request.header.is_cut else ""}
            answers.append(validate(kind, **fields))
        except PlateError as error:
            if is_single and call.hint and isinstance(error, PictureError):
                raise PictureError(f"{error}{call.hint}") from error
            is_of_all = not answers and isinstance(error, OF_THE_CALL)
            if is_single or is_of_all or isinstance(error, Cancelled):
                raise
            failure = Problem.model_validate(problem(outcome_of(error)))
            answers.append(FailedPicture(name=picture.filename, problem=failure))
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return {**call.header, "time": now, "pictures": tuple(answers)}


async def _by(deadline: float, answer: Awaitable[InferenceResponse]) -> InferenceResponse:
    """Return an answer that comes before a deadline on the loop's clock.

    Raises:
        DeadlineExceeded: The answer does not come before the deadline.
    """
    with anyio.CancelScope(deadline=deadline):
        return await answer
    raise DeadlineExceeded(
        "form: wanted all of its pictures answered within the time of one call, got fewer"
    )


def validate(kind: type[AnswerT], **values: Any) -> AnswerT:
    """Return an answer that was checked against the API's schema."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        message = describe_invalid(error.errors(include_url=False), hides_values=True)
        raise ModelError(f"answer: {message}, got another") from error
