"""Bodies of requests in JSON."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from orchestrator.errors import ParameterError
from orchestrator.gateway.errors import UnsupportedMedia
from orchestrator.gateway.http.bodies import announced_size
from orchestrator.gateway.http.endpoint import HttpRequest

ModelT = TypeVar("ModelT", bound=BaseModel)

MOST_BYTES = 16 * 1024


async def read_json(request: HttpRequest, kind: type[ModelT], most: int = MOST_BYTES) -> ModelT:
    """Read the body as JSON of a model.

    Pages of other sites cannot send this content type without a preflight, which is not answered.

    Args:
        request: The request.
        kind: The model.
        most: Largest body, bytes.

    Raises:
        GatewayError: The body is no JSON by its content type, or too large.
        ParameterError: It is no JSON, or does not fit the model.
    """
    headers = request.http.headers
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise UnsupportedMedia(f"content-type: wanted application/json, got {content_type[:40]!r}")
    announced_size(headers, most)
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        raise ParameterError(_describe(error)) from None  # the error holds the body's values


def _describe(error: ValidationError) -> str:
    """Return the first fault without the value: it may be a password."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"])) or "body"
    return f"{where}: {first['msg']}"
