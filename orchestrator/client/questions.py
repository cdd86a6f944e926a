"""What is asked about pictures, checked once for all of them, and what comes of each."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from orchestrator.client.calls import Call, to_input
from orchestrator.client.parameters import Plain, make_plain, to_parameters, write_roi
from orchestrator.client.pictures import Picture, load_picture
from orchestrator.contract import ALL_OUTPUTS, Arrays, complete, from_arrays
from orchestrator.errors import PlateError
from orchestrator.plates import Plates

FITTING = 4
"""Calls at once where the server does not say how many pictures it has in work."""


class Wanted(TypedDict, total=False):
    """What a call may ask for beside the picture; `PlateClient.recognize` says what each means."""

    detection_threshold: float | None
    text_threshold: float | None
    max_plates: int | None
    detector_side_px: int | None
    roi: str | Sequence[float] | None
    outputs: Collection[str]


@dataclass(frozen=True)
class Question:
    """What is asked about a picture.

    Attributes:
        parameters: Request parameters.
        outputs: Names of the outputs, `complete`.
    """

    parameters: Mapping[str, Plain]
    outputs: Sequence[str]

    @classmethod
    def of(
        cls,
        *,
        roi: str | Sequence[float] | None = None,
        outputs: Collection[str] = ALL_OUTPUTS,
        **numbers: float | None,
    ) -> Question:
        """Check what is asked for: `Wanted`.

        Raises:
            ParameterError: Something is none that can be sent.
            TypeError: Nobody can ask for that.
        """
        unknown = sorted(numbers.keys() - Wanted.__annotations__.keys())
        if unknown:
            raise TypeError(
                f"recognize: wanted some of {', '.join(Wanted.__annotations__)}, got {unknown[0]}"
            )
        given = {**numbers, "roi": None if roi is None else write_roi(roi)}
        return cls(to_parameters(given), complete(outputs))

    def about(self, picture: Picture, request_id: str = "") -> Call:
        """Return the call that asks it.

        Args:
            picture: As `load_picture` takes it.
            request_id: A new one when empty.

        Raises:
            PictureError: There is no picture in it.
            ParameterError: The id can be none.
        """
        return Call(
            inputs=to_input(load_picture(picture)),
            outputs=self.outputs,
            parameters=self.parameters,
            request_id=str(make_plain("request_id", request_id)) or uuid.uuid4().hex,
        )

    def read(self, arrays: Arrays) -> Plates:
        """Return the plates of an answer.

        Raises:
            ModelError: An output is missing, or not of its type and shape.
        """
        return from_arrays(arrays, self.outputs)


@dataclass(frozen=True)
class PictureResult:
    """What came of one picture of many.

    Example:
        ```python
        for found in client.recognize_many(paths):
            print(found.picture, found.error or found.plates.texts)
        ```

    Attributes:
        picture: As it was handed over.
        outcome: Its plates, or why there are none.
    """

    picture: Picture
    outcome: Plates | PlateError

    @property
    def error(self) -> PlateError | None:
        """Why the picture could not be recognised; None where it could."""
        return self.outcome if isinstance(self.outcome, PlateError) else None

    @property
    def plates(self) -> Plates:
        """The plates; none were found where they are empty.

        Raises:
            PlateError: The picture could not be recognised.
        """
        if isinstance(self.outcome, PlateError):
            raise self.outcome
        return self.outcome


def fit(config: Mapping[str, Any]) -> int:
    """Return how many calls at once keep a server busy.

    As many again as it has in work: each place has its next picture there when it gets free.

    Args:
        config: Of the model.
    """
    try:
        in_work = sum(int(group["count"]) for group in config["instance_group"])
    except (LookupError, TypeError, ValueError):
        return FITTING
    return 2 * in_work if in_work > 0 else FITTING
