"""JSON schemas in a few words of HTML, for the API's documentation."""

from __future__ import annotations

from html import escape
from typing import Any

Json = dict[str, Any]


def type_of(schema: Json) -> str:
    """Describe the values of a JSON schema in a few words of HTML."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#schema-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(type_of, schema["anyOf"]))
    if "prefixItems" in schema:
        return f"{len(schema['prefixItems'])} of {type_of(schema['prefixItems'][0])}"
    if "items" in schema:
        return f"list of {type_of(schema['items'])}{_range_of(schema, 'Items')}"
    if schema.get("format") == "binary":
        return "file"
    kind = escape(str(schema.get("const") or schema["type"]))
    return kind + _range_of(schema, "imum")


def _range_of(schema: Json, counted: str) -> str:
    least, most = schema.get(f"min{counted}"), schema.get(f"max{counted}")
    if least is not None and most is not None:
        return f", {least}" if least == most else f", {least} to {most}"
    if least is not None:
        return f", {least} or more"
    return f", up to {most}" if most is not None else ""
