"""Answers of `/v1/vision/alpr`: the fields of CodeProject.AI's license plate reader.

Source: codeproject.github.io, "CodeProject.AI Server, API reference", License Plate Reader.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from orchestrator import plates
from orchestrator.serving.gateway.http.schemas import FINE, Model, Score

RoundedScore = Annotated[Score, FINE]
Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(round)]


class VisionPlate(Model):
    """One plate that was read."""

    confidence: RoundedScore = Field(description="Probability of the whole text", examples=[0.97])
    label: str = Field(description="The text again", examples=["A123BC77"])
    plate: str = Field(description="The text in Latin letters", examples=["A123BC77"])
    x_min: int = Field(description="Left, in pixels of the upright picture", examples=[412])
    y_min: int = Field(description="Top", examples=[300])
    x_max: int = Field(description="Right", examples=[520])
    y_max: int = Field(description="Bottom", examples=[326])

    @classmethod
    def fields_of(cls, plate: plates.Plate) -> dict[str, object]:
        """Return the fields of one of our plates, not validated."""
        sides = zip(("x_min", "y_min", "x_max", "y_max"), map(round, plate.xyxy), strict=True)
        return {
            "confidence": plate.text_score,
            "label": plate.text,
            "plate": plate.text,
            **dict(sides),
        }


class VisionAnswer(Model):
    """The answer of `/v1/vision/alpr`."""

    success: Literal[True] = Field(description="Always true")
    code: Literal[200] = Field(description="Always 200")
    predictions: tuple[VisionPlate, ...] = Field(
        description="Plates that were read, best detection first"
    )
    message: str = Field(description="The texts, for people", examples=["A123BC77"])
    inferenceMs: Milliseconds = Field(  # noqa: N815 - as their clients read it
        description="Milliseconds in the model, without waits", examples=[55]
    )
    processMs: Milliseconds = Field(description="The same", examples=[55])  # noqa: N815
    moduleId: Literal["ALPR"] = Field(description="Always `ALPR`")  # noqa: N815
    command: Literal["alpr"] = Field(description="Always `alpr`")

    def to_json(self) -> bytes:
        return self.model_dump_json().encode()


class VisionError(Model):
    """Why a call of `/v1/vision/alpr` has no answer."""

    success: Literal[False] = Field(description="Always false")
    error: str = Field(
        description="What was wanted, and what came", examples=["encoded_image: damaged picture"]
    )
    code: int = Field(ge=400, le=599, description="HTTP status", examples=[400])
