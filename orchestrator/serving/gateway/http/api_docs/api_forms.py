"""Forms of the API's documentation that send a call. Their script is `page/docs.js`.

Without the script a form sends its file alone, and the browser shows the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

Json = dict[str, Any]

FORM = "multipart/form-data"
ACCEPTED = "image/jpeg,image/png,image/webp,image/bmp"
SAMPLES = dict.fromkeys(("recognize", "plateReader", "visionAlpr"), "page/sample-street.jpg")
"""Sample pictures by the name of the operation. None is a crop."""


@dataclass(frozen=True)
class Field:
    """A field beside the file.

    Attributes:
        name: Its name in the call.
        where: `query` or `form`.
        schema: JSON schema of its values.
        example: An example of a value; empty for none.
    """

    name: str
    where: str
    schema: Json
    example: str = ""


def render_form(path: str, operation: Json, parameters: Iterable[Json]) -> str:
    """Return the form of an operation that takes pictures.

    Args:
        path: Path of the operation.
        operation: Its part of the OpenAPI document.
        parameters: Its parameters, without references.
    """
    name = escape(operation["operationId"])
    file, is_several = _file_of(operation["requestBody"]["content"][FORM]["schema"])
    multiple = " multiple" if is_several else ""
    fields = "\n".join(_input(name, field) for field in _fields(operation, parameters))
    sample = SAMPLES.get(operation["operationId"], "")
    return f"""<form class="try" id="try-{name}" action="{escape(path.lstrip("/"))}" method="post"
enctype="{FORM}" data-file="{escape(file)}">
<h3>Try it</h3>
<p class="field"><label for="{name}-file">{"Pictures" if is_several else "Picture"}</label>
<input id="{name}-file" name="{escape(file)}" type="file"
accept="{ACCEPTED}"{multiple} required></p>
<details class="scripted-only"><summary>Parameters and key</summary>
<div class="fields">
{fields}
<p class="field"><label for="{name}-key">Key, if the service wants one</label>
<input id="{name}-key" type="password" data-in="key" autocomplete="off" spellcheck="false"></p>
</div></details>
<p class="row"><button class="main">Send</button>
{_sample(sample)}</p>
<pre class="curl scripted-only" tabindex="0" aria-label="The same call with curl"><code></code>
</pre>
<p class="status" role="status"></p>
<pre class="answer" tabindex="0" aria-label="Answer" hidden><code></code></pre>
</form>"""


def _file_of(schema: Json) -> tuple[str, bool]:
    """Return the name of the file's field, and whether it takes several files."""
    first = schema.get("oneOf", [schema])[0]
    (name,) = first["required"]
    return name, "items" in first["properties"][name]


def _fields(operation: Json, parameters: Iterable[Json]) -> Iterator[Field]:
    """Yield the fields beside the file: of the query and, if they are not there, of the form."""
    in_query = {}
    for parameter in parameters:
        if parameter["in"] == "query":
            example = str(parameter.get("example", ""))
            in_query[parameter["name"]] = Field(
                parameter["name"], "query", parameter["schema"], example
            )
    yield from in_query.values()
    schema = operation["requestBody"]["content"][FORM]["schema"]
    first = schema.get("oneOf", [schema])[0]
    for name, field_schema in first["properties"].items():
        if name not in first["required"] and name not in in_query:
            yield Field(name, "form", field_schema)


def _input(operation: str, field: Field) -> str:
    name, identity = escape(field.name), f"{operation}-{escape(field.name)}"
    limits = "".join(f' {html}="{value}"' for html, value in _limits_of(field.schema))
    placeholder = f' placeholder="e.g. {escape(field.example)}"' if field.example else ""
    return (
        f'<p class="field"><label for="{identity}"><code>{name}</code></label>\n'
        f'<input id="{identity}" data-in="{field.where}" data-name="{name}"{limits}{placeholder} '
        'autocomplete="off" spellcheck="false"></p>'
    )


def _limits_of(schema: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the attributes of an input that only takes values of a schema."""
    if schema.get("type") in ("number", "integer"):
        yield "type", "number"
        yield "step", schema.get("multipleOf", "any" if schema["type"] == "number" else 1)
    for html, name in (("min", "minimum"), ("max", "maximum"), ("maxlength", "maxLength")):
        if name in schema:
            yield html, schema[name]


def _sample(file: str) -> str:
    if not file:
        return ""
    return (
        f'<button type="button" class="sample-picture scripted-only" data-sample="{file}">'
        "Take a sample picture</button>"
    )
