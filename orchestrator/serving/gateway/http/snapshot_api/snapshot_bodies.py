"""Bodies of `/v1/plate-reader/`: a form with a file, a form of a page, or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import orjson
from pydantic import ValidationError

from orchestrator.errors import ParameterError
from orchestrator.host.validation_errors import describe_invalid
from orchestrator.serving.gateway.errors import UnsupportedMedia
from orchestrator.serving.gateway.http.multipart import (
    MAX_OTHERS,
    FormFields,
    Part,
    parse,
    sanitize,
)
from orchestrator.serving.gateway.http.rest import FORM
from orchestrator.serving.gateway.http.snapshot_api.snapshot_schemas import SnapshotFields

PATH = "/v1/plate-reader/"
JSON, ENCODED_FORM = "application/json", "application/x-www-form-urlencoded"
UPLOAD, UPLOAD_URL = "upload", "upload_url"
FIELDS = FormFields((UPLOAD,), (UPLOAD_URL, *SnapshotFields.model_fields), is_strict=False)
ESCAPES_ALLOWED, BYTES_AN_ESCAPE = 1000, 16
"""Largest number of escapes of an encoded form: base64 text has one in 32 characters. A body of
escapes alone would need many times its size in memory."""


@dataclass(frozen=True)
class SnapshotCall:
    """A call, taken apart.

    Attributes:
        picture: The file, or its base64 text, with the file's name.
        fields: The other fields.
    """

    picture: Part
    fields: SnapshotFields


def json_size(body: bytes, content_type: str) -> int:
    """Return the size of the text that `take_apart` parses; 0 for a form of files."""
    return 0 if _kind_of(content_type) == FORM else len(body)


def take_apart(body: bytes, content_type: str) -> SnapshotCall:
    """Return the picture and the fields of a body.

    Raises:
        RequestError: The body is damaged, has no picture, or a field is wrong.
        UnsupportedMedia: The content type is not understood.
    """
    kind = _kind_of(content_type)
    if kind == FORM:
        form = parse(body, content_type, 1, FIELDS)
        return SnapshotCall(form.pictures[0], _fields_of(form.labels))
    if kind == JSON:
        values = _json_of(body)
    elif kind == ENCODED_FORM:
        values = _form_of(body)
    else:
        raise UnsupportedMedia(f"content type: wanted {FORM} or {JSON}, got {sanitize(kind)!r}")
    return SnapshotCall(Part("", _upload_of(values)), _fields_of(values))


def _kind_of(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _json_of(body: bytes) -> dict[str, Any]:
    try:
        values = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ParameterError(f"body: wanted JSON, got a damaged one: {error}") from error
    if not isinstance(values, dict):
        raise ParameterError(f"body: wanted a JSON object, got {type(values).__name__}")
    return values


def _form_of(body: bytes) -> dict[str, str]:
    escapes = body.count(b"%")
    if escapes > ESCAPES_ALLOWED + len(body) // BYTES_AN_ESCAPE:
        raise ParameterError(
            f"body: wanted base64 text in an encoded form, got {escapes} escapes; "
            f"send files as {FORM}"
        )
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_OTHERS,
        )
    except ValueError as error:  # UnicodeDecodeError is one
        raise ParameterError(f"body: wanted {ENCODED_FORM}, got a damaged one: {error}") from error
    return dict(pairs)


def _upload_of(values: Mapping[str, Any]) -> bytes:
    upload = values.get(UPLOAD)
    if isinstance(upload, str):
        return upload.encode(errors="replace")
    if upload is None and values.get(UPLOAD_URL):
        raise ParameterError(
            f"{UPLOAD}: wanted the picture, got {UPLOAD_URL}; this service fetches nothing"
        )
    raise ParameterError(f"{UPLOAD}: wanted a picture's base64 text, got {_type_of(upload)}")


def _type_of(value: object) -> str:
    return "none" if value is None else type(value).__name__


def _fields_of(values: Mapping[str, Any]) -> SnapshotFields:
    """Return the fields that this service knows, and check them."""
    config = values.get("config")
    if isinstance(config, str):
        config = _config_of(config)
    try:
        return SnapshotFields.model_validate({**values, "config": config})
    except ValidationError as error:
        raise ParameterError(describe_invalid(error.errors(include_url=False))) from error


def _config_of(text: str) -> Any:
    if not text.strip():
        return None
    try:
        config = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ParameterError(f"config: wanted JSON, got a damaged one: {error}") from error
    if not isinstance(config, dict):
        raise ParameterError(f"config: wanted a JSON object, got {type(config).__name__}")
    return config
