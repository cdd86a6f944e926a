"""The answers of the REST API: made here, described from here.

If one of several pictures fails, it has a `problem` in place of plates.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from orchestrator import plates
from orchestrator.contract import EVERY_OUTPUT
from orchestrator.formats.layouts import MAX_LENGTH
from orchestrator.plates import PIXEL_DECIMALS, SCORE_DECIMALS, native_text
from orchestrator.serving.gateway.http.labels import MAX_CAMERA_ID_CHARACTERS, TIMESTAMP

FINE = AfterValidator(partial(round, ndigits=4))
"""Rounding to a tenth of a millisecond, or to a ten thousandth of a score."""
DECIMALS = {
    **{name: SCORE_DECIMALS for name, out in EVERY_OUTPUT.items() if out.dtype is np.float32},
    **dict.fromkeys(("coordinates", "corners"), PIXEL_DECIMALS),
}
"""Decimals of the numbers in an answer, by output: of scores, and of pixels. The numbers of an
output are rounded together, before they are checked: four plates have a hundred of them."""
Score = Annotated[float, Field(ge=0, le=1, description="in [0, 1]")]
Duration = Annotated[float, Field(ge=0, allow_inf_nan=False, description="seconds"), FINE]
Pixels = Annotated[float, Field(allow_inf_nan=False, description="pixels")]


class Model(BaseModel):
    """Base of the answers: no value is converted, and no unknown field is accepted.

    An object with the fields as attributes is accepted, too, for example a region of ours.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, from_attributes=True)

    def to_json(self) -> bytes:
        return self.model_dump_json(exclude_defaults=True).encode()


class Candidate(Model):
    """A possible reading of a plate."""

    text: str = Field(description="Latin look-alikes", examples=["A123BC77"])
    score: Score = Field(description="Probability of the whole text, in [0, 1]", examples=[0.97])


class Region(Model):
    """The region where a plate is registered."""

    code: str = Field(description="The code on the plate", examples=["77"])
    name: str = Field(description="The region's name", examples=["Moscow"])


class Country(Model):
    """The country of a plate, from a service that reads several."""

    code: str = Field(description="ISO 3166 in lower case", examples=["kz"])
    score: Score = Field(
        description="Its share in the probability of all candidates, in [0, 1]", examples=[0.99]
    )


class Reading(Model):
    """The text of a plate."""

    text: str = Field(
        description='Latin look-alikes; "" when it could not be read surely enough or has no '
        "known format",
        examples=["A123BC77"],
    )
    text_native: str | None = Field(
        description="`text` in the letters on the plate, where they are not Latin: Cyrillic; null "
        "where `text` is empty, or the letters of its format are Latin",
        examples=["\u0410123\u0412\u042177"],
    )
    text_score: Score = Field(
        description="Probability of the best reading, shown or not, in [0, 1]", examples=[0.97]
    )
    raw_text: str = Field(
        description="Best reading before threshold and format rule", examples=["A123BC77"]
    )
    character_scores: tuple[Score, ...] = Field(
        max_length=MAX_LENGTH,
        description="In [0, 1], one for each character of `raw_text`",
        examples=[[0.99, 1.0, 1.0, 0.98, 1.0, 0.99, 1.0, 1.0]],
    )
    candidates: tuple[Candidate, ...] = Field(
        max_length=plates.CANDIDATES,
        description="Best readings that have a format, best first",
        examples=[[{"text": "A123BC77", "score": 0.97}, {"text": "A128BC77", "score": 0.01}]],
    )
    format: str = Field(
        description='Name of the plate format of `text`, "" for none', examples=["ru_car"]
    )
    region: Region | None = Field(
        description="Region of the code in `text`; null without a code, or if no region has it",
        examples=[{"code": "77", "name": "Moscow"}],
    )
    country: Country | None = Field(
        default=None,
        description="Country of `text`, only from a service that reads plates of several "
        "countries; left out where `text` is empty",
        examples=[{"code": "kz", "score": 0.99}],
    )

    @classmethod
    def fields_of(cls, plate: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a plate, not validated.

        Args:
            plate: The fields of one of our plates.
        """
        candidates = tuple({"text": text, "score": score} for text, score in plate["candidates"])
        native = native_text(plate["text"], plate["format"])
        values = plate | {"text_native": native, "candidates": candidates}
        return {name: values[name] for name in cls.model_fields}


class Plate(Reading):
    """One plate found in a picture."""

    xyxy: tuple[Pixels, Pixels, Pixels, Pixels] = Field(
        description="Box x0, y0, x1, y1 in pixels of the picture that was sent, clipped to it",
        examples=[[412.0, 300.5, 520.0, 326.5]],
    )
    detection_score: Score = Field(
        description="How surely this is a plate, in [0, 1]", examples=[0.93]
    )
    corners: tuple[tuple[Pixels, Pixels], ...] = Field(
        min_length=4,
        max_length=4,
        description="The plate's quadrilateral, x and y in picture pixels, clockwise from top-left",
        examples=[[[413.0, 302.0], [519.0, 300.5], [519.5, 325.0], [412.5, 326.5]]],
    )


class Problem(Model):
    """Why a call, or one picture of it, has no answer (RFC 9457)."""

    type: str = Field(
        description="Reference to what this kind of problem is, or `about:blank`",
        examples=["/docs#problem-picture"],
    )
    title: str = Field(
        description="The kind of problem, for people", examples=["The picture cannot be used"]
    )
    status: int = Field(ge=400, le=599, description="HTTP status", examples=[400])
    detail: str = Field(
        description="What went wrong: what was wanted, and what came",
        examples=["encoded_image: damaged picture"],
    )
    reason: str = Field(
        description="One word or two, of a small set, for programs", examples=["picture"]
    )
    instance: str = Field(
        default="", description="Reference to this occurrence", examples=["/requests/4f1d0a"]
    )


UPRIGHT = "{} of the picture that was sent, in pixels, after its EXIF orientation was applied"
Name = Annotated[
    str,
    Field(
        description='The file\'s name as its sender gave it, "" for none; control characters are '
        "replaced",
        examples=["car.jpg"],
    ),
]


class Seconds(Model):
    """The times of the stages of a picture."""

    picture: Duration = Field(description="Unpacking the file", examples=[0.018])
    letterbox: Duration = Field(description="Shrinking it for the detector", examples=[0.002])
    yolo: Duration = Field(description="Finding plates", examples=[0.024])
    crops: Duration = Field(description="Choosing plates and cutting them out", examples=[0.001])
    stn: Duration = Field(description="Straightening", examples=[0.003])
    lprnet: Duration = Field(description="Reading", examples=[0.006])
    texts: Duration = Field(description="Spelling the texts out", examples=[0.001])


Side = Annotated[int, Field(ge=1)]
Note = Annotated[
    str,
    Field(
        description="What is wrong with the picture, although it was read: the end of its file is "
        "missing; left out where nothing is",
        examples=["the end of the file is missing; what is there was read"],
    ),
]


class RecognizedPicture(Model):
    """A picture and the plates in it."""

    name: Name
    width: Side = Field(description=UPRIGHT.format("Width"), examples=[1280])
    height: Side = Field(description=UPRIGHT.format("Height"), examples=[720])
    plates: tuple[Plate, ...] = Field(description="Best detection first; empty where there is none")
    seconds: Seconds = Field(
        description="By stage, without the waits before and after; 0 where nothing was to do"
    )
    note: Note = ""


class ReadPicture(Model):
    """A crop of a plate and what it says."""

    name: Name
    width: Side = Field(description=UPRIGHT.format("Width"), examples=[160])
    height: Side = Field(description=UPRIGHT.format("Height"), examples=[48])
    plate: Reading = Field(description="What was read")
    note: Note = ""


class FailedPicture(Model):
    """A picture, sent with others, that has no answer."""

    name: Name
    problem: Problem = Field(description="Why it has no answer")


class Answer(Model):
    """The answer to a call with pictures."""

    request_id: str = Field(
        description="Names the call: also the header `X-Request-Id` of the answer, and `id` in the "
        "service's audit",
        examples=["gate-7-000123"],
    )
    time: str = Field(
        description="When the answer was made, by the service's clock, in UTC",
        examples=["2026-05-17T06:30:00.412+00:00"],
        json_schema_extra={"format": "date-time"},
    )
    camera_id: str = Field(
        default="",
        max_length=MAX_CAMERA_ID_CHARACTERS,
        description="As it was sent; left out where none was",
        examples=["gate-7"],
    )
    timestamp: str = Field(
        default="",
        pattern=f"{TIMESTAMP}|^$",
        description="As it was sent; left out where none was",
        examples=["2026-05-17T09:30:00+03:00"],
    )


class Recognition(Answer):
    """The answer of `/v1/recognize`."""

    pictures: tuple[RecognizedPicture | FailedPicture, ...] = Field(
        description="One for each picture that was sent, in that order"
    )


class Readings(Answer):
    """The answer of `/v1/read`."""

    pictures: tuple[ReadPicture | FailedPicture, ...] = Field(
        description="One for each crop that was sent, in that order"
    )


class Alive(Model):
    """The answer of `/healthz`."""

    status: Literal["alive"] = Field(description="Always `alive`")


class Ready(Model):
    """The answer of `/readyz`."""

    status: Literal["ready"] = Field(description="Always `ready`")
    canary_age_s: float = Field(
        ge=0, description="Seconds since the canary picture was last read", examples=[3.1]
    )
    broken: list[str] = Field(
        default=[],
        description="Parts beside recognition that do not work now; recognition goes on",
        examples=[[]],
    )
