"""`/v1/plate-reader/`: answers clients that were written for Plate Recognizer's snapshot API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from orchestrator.contract import ENCODED, MODEL, OUTPUTS, STAGE_SECONDS, from_arrays, stages_of
from orchestrator.serving.gateway.http.labels import Labels, labels_of
from orchestrator.serving.gateway.http.rest import Infer, validate
from orchestrator.serving.gateway.http.snapshot_api.snapshot_bodies import SnapshotCall
from orchestrator.serving.gateway.http.snapshot_api.snapshot_schemas import (
    EngineConfig,
    SnapshotAnswer,
    SnapshotFields,
    SnapshotPlate,
)
from orchestrator.serving.protocol.arrays import to_arrays
from orchestrator.serving.protocol.inference import InferenceRequest, PictureFile


async def recognize(
    call: SnapshotCall, infer: Infer, id: str, trace: Mapping[str, str]
) -> SnapshotAnswer:
    """Return the plates of a picture that were read. Plates without a text are left out.

    Args:
        call: The picture and the caller's fields.
        infer: Forwards a request to the model.
        id: Request id.
        trace: W3C trace headers.

    Raises:
        PlateError: A field is wrong, or the picture has no answer.
    """
    labels = _labels_of(call.fields)
    inputs = (PictureFile(ENCODED, call.picture.content),)
    parameters = _parameters_of(call.fields.config or EngineConfig())
    outputs = (*OUTPUTS, STAGE_SECONDS)
    request = InferenceRequest(MODEL, inputs, outputs, "", id, parameters, trace)
    arrays = to_arrays((await infer(request)).outputs)
    return validate(
        SnapshotAnswer,
        processing_time=1e3 * sum(stages_of(arrays).values()),
        results=tuple(
            SnapshotPlate.fields_of(plate) for plate in from_arrays(arrays) if plate.text
        ),
        filename=call.picture.filename,
        version=1,
        camera_id=labels.camera_id or None,
        timestamp=labels.timestamp or _now(),
    )


def _labels_of(fields: SnapshotFields) -> Labels:
    """Return the caller's labels. Their clients also write a time with a blank for the T."""
    camera = "" if fields.camera_id is None else str(fields.camera_id)
    labels = {"camera_id": camera}
    if fields.timestamp:
        labels["timestamp"] = fields.timestamp.replace(" ", "T", 1)
    return labels_of({}, labels)


def _parameters_of(config: EngineConfig) -> dict[str, str]:
    """Return the model's parameters for the thresholds of a configuration."""
    thresholds = {
        "detection_threshold": config.threshold_d,
        "text_threshold": config.threshold_o,
    }
    return {name: str(value) for name, value in thresholds.items() if value is not None}


def _now() -> str:
    now = datetime.now(timezone.utc).isoformat(timespec="microseconds")
    return now.replace("+00:00", "Z")
