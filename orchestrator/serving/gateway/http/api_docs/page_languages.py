"""The API's documentation in the languages of the pages.

The OpenAPI document has one language. Its descriptions are translated before the page is made, and
the frame of the page after that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from html import escape, unescape
from typing import Any
from urllib.parse import urlencode

from orchestrator.serving.gateway.http.api_docs.api_page import page
from orchestrator.serving.gateway.http.api_docs.openapi_schemas import NO_PART
from orchestrator.serving.gateway.http.page.html import render_footer
from orchestrator.serving.gateway.http.page.texts import Texts, read_texts
from orchestrator.serving.gateway.http.problem_details import KINDS
from orchestrator.serving.gateway.options import GatewayOptions

DESCRIBING = ("description", "summary")
"""Members of a document with texts for people."""
TEXT = re.compile(r">([^<>]*\w[^<>]*)<")
STARTS = re.compile(r"(Open|Example:) (.+)", re.DOTALL)
"""Texts that begin with a word of the page and go on with a name."""


def pages(
    document: Mapping[str, Any],
    options: GatewayOptions,
    part: str = "",
    more: Mapping[str, Mapping[str, str]] = NO_PART.texts,
) -> dict[str, str]:
    """Return the page of one part of an OpenAPI document by language, see `page`.

    Args:
        document: The document.
        options: The gateway's options.
        part: Name of the tag.
        more: Descriptions of an extension in each language, by the English ones.
    """
    rendered = {}
    for language, words in read_texts().items():
        all_words = replace(words, docs={**words.docs, **more.get(language, {})})
        described = describe_in(document, to_plain(all_words.docs))
        rendered[language] = _render(described, options, all_words, part)
    return rendered


def to_plain(texts: Mapping[str, str]) -> dict[str, str]:
    """Return texts and their translations without points at the end."""
    return {text.rstrip("."): said.rstrip(".") for text, said in texts.items()}


def describe_in(document: Any, known: Mapping[str, str]) -> Any:
    """Return a document with the descriptions of a language; unknown ones stay.

    Args:
        document: The document, or a part of it.
        known: See `to_plain`.
    """
    if isinstance(document, list):
        return [describe_in(item, known) for item in document]
    if not isinstance(document, Mapping):
        return document
    return {
        name: _say(value, known)
        if name in DESCRIBING and isinstance(value, str)
        else describe_in(value, known)
        for name, value in document.items()
    }


def _say(text: str, known: Mapping[str, str]) -> str:
    plain = text.strip().rstrip(".")
    return known[plain] + "." * text.strip().endswith(".") if plain in known else text


def _render(document: Mapping[str, Any], options: GatewayOptions, texts: Texts, part: str) -> str:
    other = texts.page["other"]
    query = urlencode({"part": part, "lang": other} if part else {"lang": other})
    links = f'<a href="?{escape(query)}" hreflang="{other}" lang="{other}">'
    links += f"{texts.page['other_name']}</a>"
    html = page(dict(document), part, links=links, footer=render_footer(texts, options))
    return html if texts.language == "en" else translate(html, texts)


def translate(html: str, texts: Texts) -> str:
    """Return the English page with the texts that a language has for it."""
    meanings = {kind.meaning: texts.problems[reason] for reason, kind in KINDS.items()}
    known = {**meanings, **texts.docs}
    html = html.replace(" Example: <code>", f" {known['Example:']} <code>")

    def say(match: re.Match[str]) -> str:
        said = unescape(match[1])
        text = said.strip()
        if start := STARTS.fullmatch(text):
            translation = f"{known[start[1]]} {known.get(start[2], start[2])}"
        else:
            translation = known.get(text, text)
        return f">{escape(said.replace(text, translation))}<"

    return TEXT.sub(say, html).replace('<html lang="en">', f'<html lang="{texts.language}">', 1)
