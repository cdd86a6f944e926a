"""REST requests: pictures in a body, and their plates as JSON. No web server is needed."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
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
from orchestrator.imaging.files import from_base64
from orchestrator.imaging.headers import check_file
from orchestrator.imaging.orientation import upright_wh
from orchestrator.serving.gateway.errors import (
    DeadlineExceeded,
    QuotaExceeded,
    UnsupportedMedia,
    outcome_of,
)
from orchestrator.serving.gateway.http.labels import LABELS, NO_LABELS, Labels, labels_of
from orchestrator.serving.gateway.http.multipart import Form, Part, parse, shown
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
from orchestrator.serving.protocol.arrays import to_array
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, PictureFile

Infer = Callable[[InferenceRequest], Awaitable[InferenceResponse]]

FORM = "multipart/form-data"
FILE = "application/octet-stream"
OF_CURL = "application/x-www-form-urlencoded"
UNSAID = ("", FILE, OF_CURL)
"""Content types that carry no information. curl sends the last one with any bytes."""
OF_THE_CALL = (Overloaded, ParameterError, QuotaExceeded, ServerError)
"""Errors that are not about one picture, but about the service, the quota or the query."""
MAX_ID_CHARACTERS = 128

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


@dataclass(frozen=True)
class RestCall:
    """A request, taken apart.

    Attributes:
        id: Request id.
        pictures: At least one.
        parameters: Parameters of the model; the rest of the request is checked with them.
        labels: The caller's labels.
    """

    id: str
    pictures: Sequence[Part]
    parameters: Mapping[str, str]
    labels: Labels

    def header(self) -> dict[str, str]:
        """Return the fields of an answer that are about the call, with the time of now."""
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        return {"request_id": self.id, "time": now, **asdict(self.labels)}


def request_id(given: str | None) -> str:
    """Return a caller's request id, or a new one. Callers may not use the id of health checks."""
    is_usable = given and given.isprintable() and len(given) <= MAX_ID_CHARACTERS and given != PROBE
    return given if given and is_usable else uuid.uuid4().hex


async def recognize(sent: RestRequest, infer: Infer, limits: Limits) -> Recognition:
    """Find and read the plates in pictures, one after the other.

    Raises:
        RequestError: A parameter or the form is wrong, or the only picture is.
        GatewayError: The content type is not understood, or the service has no room.
        PlateError: The only picture has no answer.
    """
    call, outputs = _take_apart(sent, limits), (*OUTPUTS, STAGE_SECONDS)

    async def answer(picture: Part, id: str) -> RecognizedPicture:
        inputs = (PictureFile(ENCODED, picture.content),)
        request = InferenceRequest(MODEL, inputs, outputs, "", id, call.parameters, sent.trace)
        response = await infer(request)
        arrays = arrays_of(response)
        plates = tuple(map(Plate.fields_of, rows_of(arrays, decimals=DECIMALS)))
        about = _describe(picture, response)
        return validated(RecognizedPicture, **about, plates=plates, seconds=stages_of(arrays))

    pictures = await _each(call, answer, limits.call_s)
    return Recognition(**call.header(), pictures=pictures)


async def read(sent: RestRequest, infer: Infer, limits: Limits) -> Readings:
    """Read tight crops of plates, one after the other.

    Raises:
        RequestError: A parameter or the form is wrong, or the only crop is.
        GatewayError: The content type is not understood, or the service has no room.
        PlateError: The only crop has no answer.
    """
    call, outputs = _take_apart(sent, limits), ("coordinates", *OF_A_READING)

    async def answer(crop: Part, id: str) -> ReadPicture:
        inputs = (PictureFile(ENCODED_CROP, crop.content),)
        request = InferenceRequest(MODEL, inputs, outputs, "", id, call.parameters, sent.trace)
        response = await infer(request)
        plates = rows_of(arrays_of(response), outputs, DECIMALS)
        if len(plates) != 1:
            raise ModelError(f"answer: wanted one reading of the crop, got {len(plates)}")
        about = _describe(crop, response)
        return validated(ReadPicture, **about, plate=Reading.fields_of(plates[0]))

    pictures = await _each(call, answer, limits.call_s)
    return Readings(**call.header(), pictures=pictures)


def _take_apart(sent: RestRequest, limits: Limits) -> RestCall:
    """Return a request's pictures, parameters and labels. The labels are checked here.

    Raises:
        RequestError: The form is wrong, a parameter comes twice, or a label is wrong.
        UnsupportedMedia: The content type is not understood.
    """
    query = _each_once(sent.query) if sent.query else {}
    form = _form_of(sent, limits.pictures, limits.pixels)
    labels = labels_of(query, form.labels) if query or form.labels else NO_LABELS
    parameters = {name: value for name, value in query.items() if name not in LABELS}
    return RestCall(sent.id, form.pictures, parameters, labels)


def _each_once(query: Sequence[tuple[str, str]]) -> dict[str, str]:
    for name, count in Counter(name for name, _ in query).items():
        if count > 1:
            raise ParameterError(f"parameters: wanted each once, got {shown(name)} {count} times")
    return dict(query)


def _form_of(sent: RestRequest, most: int, most_pixels: int) -> Form:
    """Return the body's form, or a form of one picture if the body is a picture."""
    kind = sent.content_type.partition(";")[0].strip().lower()
    if kind == FORM:
        return parse(sent.body, sent.content_type, most)
    if kind not in UNSAID and not kind.startswith("image/"):
        raise UnsupportedMedia(f"content type: wanted image/*, {FILE} or {FORM}, got {shown(kind)}")
    if kind == OF_CURL:
        _check_unchanged(sent.body, most_pixels)
    return Form((Part("", sent.body),))


def _check_unchanged(body: bytes, most_pixels: int) -> None:
    """Check the header of a picture that curl has sent. Its option -d drops bytes of files.

    Raises:
        PictureError: It is no picture, or none any more.
    """
    try:
        check_file(from_base64(body), most_pixels)
    except PictureError as error:
        raise PictureError(
            f"{error}; curl sends files unchanged with --data-binary, not with -d"
        ) from error


def _describe(picture: Part, response: InferenceResponse) -> dict[str, Any]:
    """Return name and size of a picture that the service has read, from its header."""
    request = response.request
    assert request is not None
    assert request.header is not None
    (file,) = request.inputs
    assert isinstance(file, PictureFile)
    width, height = upright_wh(file.content, request.header)
    return {"name": picture.filename, "width": width, "height": height}


async def _each(
    call: RestCall, answer: Callable[[Part, str], Awaitable[A]], within_s: float
) -> tuple[A | FailedPicture, ...]:
    """Answer pictures one by one. One of several may fail alone. All share one timeout."""
    if len(call.pictures) == 1:
        return (await answer(call.pictures[0], call.id),)
    answers: list[A | FailedPicture] = []
    deadline = anyio.current_time() + within_s
    for number, picture in enumerate(call.pictures):
        try:
            answers.append(await _by(deadline, answer(picture, f"{call.id}/{number}")))
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


def arrays_of(response: InferenceResponse) -> Arrays:
    """Return the outputs of a response by their names."""
    return {tensor.name: to_array(tensor) for tensor in response.outputs}


def validated(kind: type[A], **values: Any) -> A:
    """Return an answer that was checked against the API's schema."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ModelError(f"answer: wanted {where} as described, got: {first['msg']}") from error
