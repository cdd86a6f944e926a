"""JSON schemas of the answers, a part of the OpenAPI document."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from orchestrator.gateway.http import schemas, snapshot_schemas
from orchestrator.gateway.http.api_examples import Json


class _Untitled(GenerateJsonSchema):
    """A field's name is its title."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def describe_answers() -> Json:
    """Return the schemas of all answers, and of what they consist of, by their names."""
    answers = (
        *(schemas.Recognition, schemas.Readings, schemas.Problem),
        *(schemas.Alive, schemas.Ready),
        *(snapshot_schemas.SnapshotAnswer, snapshot_schemas.SnapshotError),
        snapshot_schemas.EngineConfig,
    )
    _, definitions = models_json_schema(
        [(answer, "validation") for answer in answers],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Untitled,
    )
    return dict(definitions["$defs"])
