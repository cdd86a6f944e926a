"""The settings of an operator or a request, with their ranges; parsed once, then frozen."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from orchestrator.errors import ParameterError, SettingsError
from orchestrator.host.heartbeat import PARAMETER as HANG_PARAMETER
from orchestrator.host.toml_files import check_range
from orchestrator.imaging.files import shorten

Roi = tuple[float, float, float, float]

REQUEST_PARAMETERS = (
    "detection_threshold", "text_threshold", "max_plates", "detector_side_px", "roi"
)  # fmt: skip
READER_PARAMETERS = ("text_threshold",)
"""Parameters of a request to `plate_reader`; an ensemble passes them to its steps."""
MAX_PLATES, MAX_SIDE_PX = 1000, 4096
"""Upper limits of the limits that an operator may set."""


@dataclass(frozen=True)
class Settings:
    """The settings of recognition.

    Attributes:
        detection_threshold: Least detection score of a plate, in [0, 1].
        text_threshold: Least text score of a text that is shown, in [0, 1].
        max_plates: Most plates of one picture; the best detections stay. A request may lower it.
        roi: Region of interest, x0, y0, x1, y1 in picture pixels; None means the whole picture.
            Plates whose middle lies in it count. Its surroundings are searched, too, so that its
            border cuts no plate.
        iou_threshold: When two boxes overlap more, only the better one stays; in [0, 1].
        detector_side_px: Longest side of the detector's input, a multiple of 32; a larger one finds
            smaller plates. A larger picture is scaled down to it, a smaller one is not changed.
        max_detector_side_px: Largest value that a request may ask for.
        max_pixels: Largest picture accepted, width x height.
        temperature: Divides the reader's logits so that a text score is a probability.
    """

    detection_threshold: float = 0.35
    text_threshold: float = 0.6
    max_plates: int = 100
    roi: Roi | None = None
    iou_threshold: float = 0.45
    detector_side_px: int = 960
    max_detector_side_px: int = 1920
    max_pixels: int = 50_000_000
    temperature: float = 1.0

    def __post_init__(self) -> None:
        _check_range("detection_threshold", self.detection_threshold, 0, 1)
        _check_range("text_threshold", self.text_threshold, 0, 1)
        _check_range("max_plates", self.max_plates, 1, MAX_PLATES)
        _check_range("iou_threshold", self.iou_threshold, 0, 1)
        _check_range("detector_side_px", self.detector_side_px, 32, MAX_SIDE_PX)
        _check_range("max_detector_side_px", self.max_detector_side_px, 32, MAX_SIDE_PX)
        _check_range("max_pixels", self.max_pixels, 1, 1_000_000_000)
        _check_range("temperature", self.temperature, 0.01, 100)
        if self.detector_side_px % 32:
            raise ParameterError(
                f"detector_side_px: wanted a multiple of 32, got {self.detector_side_px}"
            )
        if self.roi is not None and not (self.roi[0] < self.roi[2] and self.roi[1] < self.roi[3]):
            raise ParameterError(f"roi: wanted x0 < x1 and y0 < y1, got {self.roi}")

    @classmethod
    def from_config(cls, parameters: Mapping[str, Mapping[str, str]]) -> Settings:
        """Parse the `parameters` of a Triton model; upper-case names are Triton's own.

        The supervisor's parameter, for the time of a step, is no setting.

        Raises:
            SettingsError: A name is unknown, or a value does not parse or is out of range.
        """
        values = {
            name: value["string_value"]
            for name, value in parameters.items()
            if not name.isupper() and name != HANG_PARAMETER
        }
        try:
            return cls()._with_values(values, [field.name for field in fields(cls)])
        except ParameterError as error:
            raise SettingsError(str(error)) from error

    def updated(
        self,
        parameters: Mapping[str, str | int | float | bool],
        known: Sequence[str] = REQUEST_PARAMETERS,
    ) -> Settings:
        """Return these settings with a request's parameters.

        Args:
            parameters: Values by the names of the parameters.
            known: Names of the parameters that a request may have.

        Raises:
            ParameterError: A name is unknown, or a value does not parse, is out of range or costs
                more than the operator allows.
        """
        if not parameters:
            return self
        updated = self._with_values(parameters, known)
        ceilings = {
            "max_plates": self.max_plates,
            "detector_side_px": max(self.detector_side_px, self.max_detector_side_px),
        }
        for name, ceiling in ceilings.items():
            if getattr(updated, name) > ceiling:
                raise ParameterError(
                    f"{name}: wanted at most {ceiling}, which the operator allows, "
                    f"got {getattr(updated, name)}"
                )
        return updated

    def _with_values(
        self, values: Mapping[str, str | int | float | bool], names: Sequence[str]
    ) -> Settings:
        unknown_names = sorted(set(values) - set(names))
        if unknown_names:
            raise ParameterError(
                f"parameters: wanted some of {', '.join(names)}, got {shorten(unknown_names[0])}"
            )
        settings: dict[str, Any] = {name: _parse(name, value) for name, value in values.items()}
        return replace(self, **settings)


def check_parameters(
    parameters: Mapping[str, str | int | float | bool], names: Sequence[str] = REQUEST_PARAMETERS
) -> None:
    """Reject a request's parameters that are invalid for any operator's settings.

    Raises:
        ParameterError: A name is unknown, or a value does not parse or is out of range.
    """
    ceilings = Settings(max_plates=MAX_PLATES, max_detector_side_px=MAX_SIDE_PX)
    ceilings.updated(parameters, names)


def _parse(name: str, value: str | int | float | bool) -> float | Roi:
    """Convert a parameter's value, a number or its text, to the type of the setting."""
    if isinstance(value, bool):
        raise ParameterError(f"{name}: wanted a number, got {value}")
    if name == "roi":
        return _parse_roi(value)
    try:
        number = to_float(value)
    except (ValueError, OverflowError):
        raise ParameterError(f"{name}: wanted a number, got {reprlib.repr(value)}") from None
    if isinstance(getattr(Settings, name), int):
        if not number.is_integer():
            raise ParameterError(f"{name}: wanted a whole number, got {shorten(str(value))}")
        return int(number)
    return number


def to_float(value: str | int | float) -> float:
    """Return a number, or that of its text. Python alone would also read `5_0` and Arabic digits.

    Raises:
        ValueError: The text is no number.
        OverflowError: The number is too large.
    """
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        raise ValueError(value)
    return float(value)


def _parse_roi(value: str | int | float) -> Roi:
    try:
        x0, y0, x1, y1 = (to_float(part) for part in str(value).split(","))
    except ValueError:
        raise ParameterError(
            f'roi: wanted "x0,y0,x1,y1" in pixels, got {reprlib.repr(value)}'
        ) from None
    return x0, y0, x1, y1


def _check_range(name: str, value: float, minimum: float, maximum: float) -> None:
    check_range(name, value, minimum, maximum, ParameterError)
