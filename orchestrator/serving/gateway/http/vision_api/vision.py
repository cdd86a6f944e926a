"""`/v1/vision/alpr`: answers clients that were written for CodeProject.AI, such as Blue Iris."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.contract import ENCODED, MODEL, OUTPUTS, STAGE_SECONDS, from_arrays, stages_of
from orchestrator.errors import ParameterError
from orchestrator.plates import Plate
from orchestrator.serving.gateway.errors import UnsupportedMedia
from orchestrator.serving.gateway.http.multipart import FormFields, Part, parse, sanitize
from orchestrator.serving.gateway.http.rest import FORM, Infer, validate
from orchestrator.serving.gateway.http.vision_api.vision_schemas import VisionAnswer, VisionPlate
from orchestrator.serving.protocol.arrays import to_arrays
from orchestrator.serving.protocol.inference import InferenceRequest, PictureFile
from orchestrator.settings import to_float

PATH = "/v1/vision/alpr"
PICTURES = ("upload", "image")
"""Names of the picture's field, as their clients write it."""
MIN_CONFIDENCE = "min_confidence"
FIELDS = FormFields(PICTURES, (MIN_CONFIDENCE,), is_strict=False)


@dataclass(frozen=True)
class VisionCall:
    """A call, taken apart.

    Attributes:
        picture: The file with its name.
        min_confidence: Minimum text score of a plate in the answer.
    """

    picture: Part
    min_confidence: float


def take_apart(body: bytes, content_type: str) -> VisionCall:
    """Return the picture and the least score of a form.

    Raises:
        RequestError: The form is damaged or has no picture, or the score is wrong.
        UnsupportedMedia: It is no form.
    """
    if (kind := content_type.partition(";")[0].strip().lower()) != FORM:
        raise UnsupportedMedia(f"content type: wanted {FORM}, got {sanitize(kind)!r}")
    form = parse(body, content_type, 1, FIELDS)
    return VisionCall(form.pictures[0], _to_score(form.labels.get(MIN_CONFIDENCE, "")))


def _to_score(text: str) -> float:
    try:
        score = to_float(text or 0)
    except ValueError:
        score = -1.0
    if not 0 <= score <= 1:  # False for what is not a number
        raise ParameterError(f"{MIN_CONFIDENCE}: wanted 0 to 1, got {sanitize(text)}")
    return score


async def recognize(
    call: VisionCall, infer: Infer, id: str, trace: Mapping[str, str]
) -> VisionAnswer:
    """Return the plates of a picture that were read surely enough.

    Args:
        call: The picture and the least score.
        infer: Forwards a request to the model.
        id: Request id.
        trace: W3C trace headers.

    Raises:
        PlateError: The picture has no answer.
    """
    inputs = (PictureFile(ENCODED, call.picture.content),)
    request = InferenceRequest(MODEL, inputs, (*OUTPUTS, STAGE_SECONDS), "", id, {}, trace)
    arrays = to_arrays((await infer(request)).outputs)
    plates = [
        plate
        for plate in from_arrays(arrays)
        if plate.text and plate.text_score >= call.min_confidence
    ]
    return _to_answer(plates, spent_ms=1e3 * sum(stages_of(arrays).values()))


def _to_answer(plates: Sequence[Plate], spent_ms: float) -> VisionAnswer:
    return validate(
        VisionAnswer,
        success=True,
        code=200,
        predictions=tuple(map(VisionPlate.fields_of, plates)),
        message=", ".join(plate.text for plate in plates),
        inferenceMs=spent_ms,
        processMs=spent_ms,
        moduleId="ALPR",
        command="alpr",
    )
