"""The API's documentation in the languages of the pages.

The frame of the page, the operations' summaries and the problems are translated. Descriptions of
fields and parameters are those of the OpenAPI document, which has one language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape, unescape
from typing import Any
from urllib.parse import urlencode

from orchestrator.serving.gateway.http.api_docs.api_page import page
from orchestrator.serving.gateway.http.page.html import render_footer
from orchestrator.serving.gateway.http.page.texts import Texts, read_texts
from orchestrator.serving.gateway.http.problem_details import KINDS
from orchestrator.serving.gateway.options import GatewayOptions

TEXT = re.compile(r">([^<>]*\w[^<>]*)<")
STARTS = re.compile(r"(Open|Example:) (.+)", re.DOTALL)
"""Texts that begin with a word of the page and go on with a name."""


def pages(document: Mapping[str, Any], options: GatewayOptions, part: str = "") -> dict[str, str]:
    """Return the page of one part of an OpenAPI document by language, see `page`."""
    texts = read_texts().items()
    return {language: _render(document, options, words, part) for language, words in texts}


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

    def say(match: re.Match[str]) -> str:
        said = unescape(match[1])
        text = said.strip()
        if start := STARTS.fullmatch(text):
            translation = f"{known[start[1]]} {known.get(start[2], start[2])}"
        else:
            translation = known.get(text, text)
        return f">{escape(said.replace(text, translation))}<"

    return TEXT.sub(say, html).replace('<html lang="en">', f'<html lang="{texts.language}">', 1)
