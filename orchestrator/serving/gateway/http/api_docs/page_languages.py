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

from orchestrator.serving.gateway.http.api_docs.api_page import render_page
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


def render_pages(
    document: Mapping[str, Any],
    options: GatewayOptions,
    part: str = "",
    more: Mapping[str, Mapping[str, str]] = NO_PART.texts,
) -> dict[str, str]:
    """Return the page of one part of an OpenAPI document by language, see `render_page`.

    Args:
        document: The document.
        options: The gateway's options.
        part: Name of the tag.
        more: Descriptions of an extension in each language, by the English ones.
    """
    html_by_language = {}
    for language, words in read_texts().items():
        all_words = replace(words, docs={**words.docs, **more.get(language, {})})
        translation = describe_in(document, to_plain(all_words.docs))
        html_by_language[language] = _render(translation, options, all_words, part)
    return html_by_language


def to_plain(texts: Mapping[str, str]) -> dict[str, str]:
    """Return texts and their translations without full stops at the end."""
    return {text.rstrip("."): translation.rstrip(".") for text, translation in texts.items()}


def describe_in(document: Any, translations: Mapping[str, str]) -> Any:
    """Return a document with the descriptions of a language; unknown ones stay.

    Args:
        document: The document, or a part of it.
        translations: See `to_plain`.
    """
    if isinstance(document, list):
        return [describe_in(item, translations) for item in document]
    if not isinstance(document, Mapping):
        return document
    return {
        name: _translate_text(value, translations)
        if name in DESCRIBING and isinstance(value, str)
        else describe_in(value, translations)
        for name, value in document.items()
    }


def _translate_text(text: str, translations: Mapping[str, str]) -> str:
    plain = text.strip().rstrip(".")
    return translations[plain] + "." * text.strip().endswith(".") if plain in translations else text


def _render(document: Mapping[str, Any], options: GatewayOptions, texts: Texts, part: str) -> str:
    other_language = texts.page["other"]
    query = urlencode({"part": part, "lang": other_language} if part else {"lang": other_language})
    links = f'<a href="?{escape(query)}" hreflang="{other_language}" lang="{other_language}">'
    links += f"{texts.page['other_name']}</a>"
    html = render_page(dict(document), part, links=links, footer=render_footer(texts, options))
    return html if texts.language == "en" else translate(html, texts)


def translate(html: str, texts: Texts) -> str:
    """Return the English page with the texts that a language has for it."""
    meanings = {kind.meaning: texts.problems[reason] for reason, kind in KINDS.items()}
    translations = {**meanings, **texts.docs}
    html = html.replace(" Example: <code>", f" {translations['Example:']} <code>")

    def say(match: re.Match[str]) -> str:
        source = unescape(match[1])
        text = source.strip()
        if start := STARTS.fullmatch(text):
            translation = f"{translations[start[1]]} {translations.get(start[2], start[2])}"
        else:
            translation = translations.get(text, text)
        return f">{escape(source.replace(text, translation))}<"

    return TEXT.sub(say, html).replace('<html lang="en">', f'<html lang="{texts.language}">', 1)
