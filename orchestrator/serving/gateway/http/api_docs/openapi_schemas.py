"""JSON schemas of the answers, a part of the OpenAPI document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from orchestrator.serving.gateway.http import schemas
from orchestrator.serving.gateway.http.api_docs.api_examples import Json
from orchestrator.serving.gateway.http.snapshot_api import snapshot_schemas
from orchestrator.serving.gateway.http.vision_api import vision_schemas


@dataclass(frozen=True)
class ApiPart:
    """A part of the document that an extension adds.

    Attributes:
        tags: Its tags.
        paths: Its operations by path and method.
        components: Its components by their kind.
        texts: Its descriptions in each language, by the English ones.
    """

    tags: Sequence[Json] = ()
    paths: Mapping[str, Json] = field(default_factory=dict)
    components: Mapping[str, Json] = field(default_factory=dict)
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


NO_PART = ApiPart()
REFERENCE = re.compile(r'"#/components/(\w+)/(\w+)"')


class _Untitled(GenerateJsonSchema):
    """A field's name is its title."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def describe_answers() -> Json:
    """Return the schemas of all answers, and of what they consist of, by their names."""
    answers = (
        schemas.Recognition,
        schemas.Readings,
        schemas.Problem,
        schemas.Alive,
        schemas.Ready,
        snapshot_schemas.SnapshotAnswer,
        snapshot_schemas.SnapshotError,
        snapshot_schemas.EngineConfig,
        vision_schemas.VisionAnswer,
        vision_schemas.VisionError,
    )
    return describe_models(answers)


def describe_models(models: Iterable[type[BaseModel]]) -> Json:
    """Return the schemas of models, and of what they consist of, by their names."""
    _, definitions = models_json_schema(
        [(model, "validation") for model in models],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Untitled,
    )
    return dict(definitions["$defs"])


def find_used_schemas(document: Json, operations: Iterable[object]) -> Json:
    """Return the schemas that operations use, also by way of other components."""
    components = document["components"]
    texts, references = [json.dumps([*operations])], {("schemas", "Problem")}
    while texts:
        new = {*REFERENCE.findall(texts.pop())} - references
        references |= new
        texts += [json.dumps(components[kind][name]) for kind, name in new]
    schemas = components["schemas"].items()
    return {name: schema for name, schema in schemas if ("schemas", name) in references}
