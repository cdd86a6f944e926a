"""Requests and answers of `/v1/plate-reader/`: the fields of Plate Recognizer's snapshot API.

Source: guides.platerecognizer.com, "Snapshot API Reference".
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from orchestrator import plates
from orchestrator.serving.gateway.http.schemas import FINE, Model, Score

RoundedScore = Annotated[Score, FINE]
Milliseconds = Annotated[
    float, Field(ge=0, allow_inf_nan=False), AfterValidator(partial(round, ndigits=3))
]
Threshold = Annotated[float, Field(ge=0, le=1)]


class EngineConfig(BaseModel):
    """The part of the engine's configuration that this service has. The rest is ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    threshold_d: Threshold | None = Field(
        default=None, description="Minimum detection score of a plate", examples=[0.3]
    )
    threshold_o: Threshold | None = Field(
        default=None, description="Minimum text score of a plate", examples=[0.6]
    )
    detection_mode: Literal["plate"] | None = Field(
        default=None, description="Vehicles without plates are not found"
    )


class SnapshotFields(BaseModel):
    """The fields of a call beside its file. Fields of other names are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    camera_id: str | int | None = Field(
        default=None, description="Names the camera; the answer repeats it", examples=["gate-7"]
    )
    timestamp: str | None = Field(
        default=None,
        description="When the picture was taken, an ISO 8601 time; the answer repeats it",
        examples=["2026-05-17T09:30:00"],
    )
    config: EngineConfig | None = Field(
        default=None,
        description="Configuration of the engine, as JSON text or as an object",
        examples=['{"threshold_o": 0.6}'],
    )


class Box(Model):
    """A rectangle in pixels of the upright picture."""

    xmin: int = Field(description="Left", examples=[412])
    ymin: int = Field(description="Top", examples=[300])
    xmax: int = Field(description="Right", examples=[520])
    ymax: int = Field(description="Bottom", examples=[326])


class SnapshotRegion(Model):
    """The country of a plate."""

    code: str = Field(description="The country's code, in lower case", examples=["ru"])
    score: RoundedScore = Field(
        description="Score of the text in the format of this country's plates", examples=[0.97]
    )


class SnapshotCandidate(Model):
    """A possible text of a plate."""

    score: RoundedScore = Field(description="Probability of the whole text", examples=[0.97])
    plate: str = Field(description="In small Latin letters", examples=["a123bc77"])


class NoVehicle(Model):
    """The vehicle of a plate, in the form that says: no vehicle was looked for or found."""

    score: float = Field(default=0.0, ge=0, le=0, description="Always 0", examples=[0.0])
    type: Literal["Unknown"] = Field(default="Unknown", description="Always `Unknown`")
    box: Box = Field(
        default=Box(xmin=0, ymin=0, xmax=0, ymax=0), description="Always 0 at all sides"
    )


class SnapshotPlate(Model):
    """One plate that was read."""

    box: Box = Field(description="Where the plate is")
    plate: str = Field(description="The text in small Latin letters", examples=["a123bc77"])
    region: SnapshotRegion = Field(description="The plate's country")
    score: RoundedScore = Field(description="Probability of the whole text", examples=[0.97])
    candidates: tuple[SnapshotCandidate, ...] = Field(description="Best first")
    dscore: RoundedScore = Field(description="How surely this is a plate", examples=[0.93])
    vehicle: NoVehicle = Field(description="This service finds plates, not vehicles")

    @classmethod
    def fields_of(cls, plate: plates.Plate) -> dict[str, Any]:
        """Return the fields of one of our plates, not validated."""
        candidates = [{"score": score, "plate": text.lower()} for text, score in plate.candidates]
        return {
            "box": dict(zip(("xmin", "ymin", "xmax", "ymax"), map(round, plate.xyxy), strict=True)),
            "plate": plate.text.lower(),
            "region": {"code": plates.country_code(plate.format), "score": plate.text_score},
            "score": plate.text_score,
            "candidates": tuple(candidates),
            "dscore": plate.detection_score,
            "vehicle": NoVehicle(),
        }


class SnapshotAnswer(Model):
    """The answer of `/v1/plate-reader/`."""

    processing_time: Milliseconds = Field(
        description="Milliseconds in the model, without waits", examples=[54.9]
    )
    results: tuple[SnapshotPlate, ...] = Field(
        description="Plates that were read, best detection first"
    )
    filename: str = Field(description='The file\'s name, "" for none', examples=["car.jpg"])
    version: Literal[1] = Field(description="Always 1")
    camera_id: str | None = Field(
        description="As it was sent, null where none was", examples=["gate-7"]
    )
    timestamp: str = Field(
        description="As it was sent, or when the answer was made, in UTC",
        examples=["2026-05-17T06:30:00.412000Z"],
    )

    def to_json(self) -> bytes:
        return self.model_dump_json().encode()


class SnapshotError(Model):
    """Why a call of `/v1/plate-reader/` has no answer."""

    detail: str = Field(
        description="What was wanted, and what came",
        examples=["encoded_image: damaged picture"],
    )
    status_code: int = Field(ge=400, le=599, description="HTTP status", examples=[400])
