"""The API's documentation as an HTML page, in the design of the page and with its files alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any
from urllib.parse import quote

from orchestrator.serving.gateway.http.api_docs.api_forms import FORM, render_form
from orchestrator.serving.gateway.http.api_docs.api_types import type_of
from orchestrator.serving.gateway.http.api_docs.openapi import HOST
from orchestrator.serving.gateway.http.api_docs.openapi_schemas import find_used_schemas
from orchestrator.serving.gateway.http.problem_details import KINDS, anchor_of

Json = dict[str, Any]

CODE = re.compile(r"`([^`]+)`")
UNNAMED = "about:blank"
"""Type of a problem that this page does not explain."""
LINK = re.compile(r"\[([^\]]+)\]\((https://[^)\s]+)\)")


def render_page(document: Json, part: str = "", *, links: str = "", footer: str = "") -> str:
    """Return the HTML page of one part of an OpenAPI document.

    Args:
        document: The document.
        part: Name of the tag whose operations are shown. Empty and unknown ones mean the first.
        links: HTML of more links of the header.
        footer: HTML of the footer.
    """
    names = [tag["name"] for tag in document["tags"]]
    part = part if part in names else names[0]
    operations = [*_operations(document)]
    part_operations = [entry for entry in operations if part in entry[2].get("tags", ())]
    sections = [_operation(document, *operation) for operation in part_operations]
    common = [_keys(document), _schemas(document, part_operations), _problems()]
    body = "\n".join([_head(document, operations, part, links), *sections, *common])
    title = escape(document["info"]["title"])
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: API</title>
<link rel="icon" href="page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="page/page.css">
<link rel="stylesheet" href="page/docs.css">
<script type="module" src="page/docs.js"></script>
</head>
<body data-address="{HOST}">
{body}
</main>
</div>
{footer}
</body>
</html>
"""


def _operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _head(
    document: Json, operations: Iterable[tuple[str, str, Json]], part: str, links: str
) -> str:
    info = document["info"]
    return f"""<a class="skip" href="#main">To the text</a>
<header class="site">
<div class="brand">
<img src="page/icon.svg" width="36" height="36" alt="">
<h1>{escape(info["title"])}: API</h1>
</div>
<nav aria-label="Site">
<a href="./">Page</a>
<a href="openapi.json">openapi.json</a>
{links}
</nav>
</header>
<div class="columns">
{_contents(document, [*operations], part)}
<main id="main">
<div class="intro">
<p>{_inline(info["description"])}</p>
<p class="faint">API version {escape(info["version"])}</p>
</div>"""


def _contents(document: Json, operations: Iterable[tuple[str, str, Json]], part: str) -> str:
    """Return the links to all operations by their tags; those of other tags are on other pages."""
    parts = ['<nav class="contents" aria-label="Contents">']
    for tag in document["tags"]:
        where = "" if tag["name"] == part else f"docs?part={quote(tag['name'])}"
        links = "".join(
            f'<li><a href="{where}#{escape(operation["operationId"])}">{_method(method)}'
            f"<code>{escape(path)}</code></a></li>\n"
            for method, path, operation in operations
            if tag["name"] in operation.get("tags", ())
        )
        parts.append(f"<h2>{escape(tag['name'].capitalize())}</h2>\n<ul>\n{links}</ul>")
    anchors = {"keys": "Keys", "fields": "Fields of the answers", "problems": "Problems"}
    links = "".join(f'<li><a href="#{name}">{text}</a></li>\n' for name, text in anchors.items())
    return "\n".join([*parts, f"<h2>Of all calls</h2>\n<ul>\n{links}</ul>", "</nav>"])


def _method(name: str) -> str:
    return f'<span class="method {escape(name.lower())}">{escape(name)}</span>'


def _operation(document: Json, method: str, path: str, operation: Json) -> str:
    parts = [
        f'<section id="{escape(operation["operationId"])}">',
        f"<h2>{_method(method)} <code>{escape(path)}</code></h2>",
        f'<p class="summary">{_inline(operation["summary"])}.</p>',
    ]
    if "description" in operation:
        parts.append(f"<p>{_inline(operation['description'])}</p>")
    parameters = [_resolve(document, parameter) for parameter in operation.get("parameters", ())]
    if FORM in operation.get("requestBody", {}).get("content", {}):
        parts.append(render_form(path, operation, parameters))
    elif method == "GET" and "{" not in path and operation["responses"]:
        address = escape(path.lstrip("/"))
        parts.append(f'<p><a class="button" href="{address}">Open {escape(path)}</a></p>')
    if "x-codeSamples" in operation:
        lines = "\n".join(sample["source"] for sample in operation["x-codeSamples"])
        parts += ["<h3>Call</h3>", _block(lines, "Calls with curl")]
    if parameters:
        parts += ["<h3>Parameters</h3>", _parameters(parameters)]
    if "requestBody" in operation:
        parts += ["<h3>Body</h3>", _body(operation["requestBody"])]
    parts += ["<h3>Answers</h3>", *_answers(document, operation["responses"]), "</section>"]
    return "\n".join(parts)


def _parameters(parameters: Iterable[Json]) -> str:
    rows = []
    for parameter in parameters:
        about = _inline(parameter["description"]) + "."
        if "example" in parameter:
            about += f" Example: <code>{escape(_render_example(parameter['example']))}</code>"
        where = escape(parameter["in"])
        rows.append((parameter["name"], where, type_of(parameter["schema"]), about))
    return _table("Parameters", ("Name", "In", "Type", "Meaning"), rows)


def _render_example(example: object) -> str:
    """Return an example as it stands in a query."""
    return str(example[0] if isinstance(example, list) else example)


def _body(body: Json) -> str:
    rows = []
    for kind, content in body["content"].items():
        schema = content["schema"]
        kinds = schema.get("oneOf", [schema] if "properties" in schema else [])
        fields = {
            name: kind_schema["properties"][name]
            for kind_schema in kinds
            for name in kind_schema["required"]
        }
        for kind_schema in kinds:
            fields |= kind_schema["properties"]
        parts = [
            f"<li>field <code>{escape(name)}</code>: {type_of(field)}. "
            f"{_inline(field['description'])}</li>"
            for name, field in fields.items()
        ]
        whole = type_of(schema) if "$ref" in schema or kind.startswith("text/") else "one picture"
        rows.append((kind, f"<ul>{''.join(parts)}</ul>" if parts else whole))
    return f"<p>{_inline(body['description'])}.</p>\n" + _table(
        "Body", ("Content type", "Holds"), rows
    )


def _answers(document: Json, responses: Json) -> Iterator[str]:
    problem_rows = []
    for status, response in responses.items():
        answer = _resolve(document, response)
        if "content" not in answer:
            yield f"<p><strong>{status}</strong>: {_inline(answer['description'])}</p>"
        for kind, content in answer.get("content", {}).items():
            if status.startswith("2"):
                yield from _answer(status, kind, answer, content)
            else:
                problem_rows.append((status, _failures(answer, content)))
    if problem_rows:
        yield _table("Problems", ("Status", "Problem"), problem_rows)


def _answer(status: str, kind: str, answer: Json, content: Json) -> Iterator[str]:
    sentence = (
        f"<strong>{status}</strong> <code>{escape(kind)}</code>: {_inline(answer['description'])}"
    )
    fields = f" {type_of(content['schema'])}" if "$ref" in content["schema"] else ""
    yield f"<p>{sentence}{fields}</p>"
    for name, example in content.get("examples", {}).items():
        text = _block(json.dumps(example["value"], indent=2, ensure_ascii=False), f"Example {name}")
        yield f"<details>\n<summary>Example: {escape(name)}</summary>\n{text}\n</details>"


def _failures(answer: Json, content: Json) -> str:
    """Return the problems of a status as links, or its description if they are in another form."""
    values = [example["value"] for example in content["examples"].values()]
    is_problem = all("reason" in value for value in values)
    return "; ".join(map(_problem_link, values)) if is_problem else _inline(answer["description"])


def _problem_link(value: Json) -> str:
    if value["type"] == UNNAMED:
        return escape(value["title"])
    return f'<a href="#{anchor_of(value["reason"])}">{escape(value["title"])}</a>'


def _keys(document: Json) -> str:
    is_needed = {} not in document["security"]
    schemes = document["components"]["securitySchemes"].values()
    ways = " or ".join(f"<code>{escape(_header_of(scheme))}</code>" for scheme in schemes)
    return (
        '<section id="keys">\n<h2>Keys</h2>\n<p>Calls '
        f"{'need a key' if is_needed else 'may have a key'}, as the header {ways}.</p>\n</section>"
    )


def _header_of(scheme: Json) -> str:
    """Return the header that carries a key."""
    if scheme["type"] == "http":
        return "Authorization: Bearer KEY"
    name = scheme["name"]
    return f"{name}: Token KEY" if name == "Authorization" else f"{name}: KEY"


def _schemas(document: Json, operations: Iterable[tuple[str, str, Json]]) -> str:
    parts = ['<section id="fields">', "<h2>Fields of the answers</h2>"]
    for name, schema in find_used_schemas(document, operations).items():
        rows = [
            (field, type_of(field_schema), _inline(field_schema.get("description", "")))
            for field, field_schema in schema["properties"].items()
        ]
        parts.append(f'<h3 id="schema-{escape(name)}">{escape(name)}</h3>')
        parts.append(f"<p>{_inline(schema['description'])}</p>")
        parts.append(_table(name, ("Field", "Type", "Meaning"), rows))
    return "\n".join([*parts, "</section>"])


def _problems() -> str:
    entries = [
        f'<dt id="{anchor_of(reason)}">{escape(kind.title)} '
        f'<span class="faint">{", ".join(map(str, kind.statuses))}, '
        f"reason <code>{escape(reason)}</code></span></dt>\n<dd>{_inline(kind.meaning)}</dd>"
        for reason, kind in KINDS.items()
    ]
    return (
        '<section id="problems">\n<h2>Problems</h2>\n<p>A call that has no answer ends with '
        "<code>application/problem+json</code>; its <code>type</code> leads here.</p>\n<dl>\n"
        + "\n".join(entries)
        + "\n</dl>\n</section>"
    )


def _table(label: str, columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table. The first cell of a row is text; the others are HTML."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    lines = [
        f'<tr><th scope="row"><code>{escape(first)}</code></th>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
        for first, *cells in rows
    ]
    return (
        f'<div class="wide" role="group" aria-label="{escape(label)}" tabindex="0"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n"
        "</table></div>"
    )


def _block(text: str, label: str) -> str:
    return f'<pre tabindex="0" aria-label="{escape(label)}"><code>{escape(text)}</code></pre>'


def _resolve(document: Json, part: Json) -> Json:
    """Return a part of the document. A reference is replaced by its component."""
    if "$ref" not in part:
        return part
    _, _, kind, name = part["$ref"].split("/")
    return dict(document["components"][kind][name])


def _inline(text: str) -> str:
    """Return a line of Markdown as HTML: code and links."""
    html = LINK.sub(r'<a href="\2">\1</a>', escape(text))
    return CODE.sub(r"<code>\1</code>", html)
