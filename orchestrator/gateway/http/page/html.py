"""The page's HTML, from one template and the texts of a language."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template

from orchestrator.gateway.http.page.texts import Texts
from orchestrator.gateway.options import GatewayOptions, Limits

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The page's Content-Security-Policy. It allows the page's own files and the reader's pictures."""


def render(texts: Texts, options: GatewayOptions) -> str:
    """Return the page in one language.

    Args:
        texts: Texts in the language.
        options: Options of the gateway, for the use of keys and the largest picture.

    Raises:
        KeyError: A text of the template is missing.
    """
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    filled = dict(texts.page)
    has_keys = options.wants_keys or options.keys is not None
    filled["limits"] = _limits(filled["limits"], options.limits)
    filled["key_hint"] = filled["key_needed" if options.wants_keys else "key_optional"]
    if options.wants_keys:
        filled["without_script"] = filled["without_script_key"]
    tables = {"problems": dict(texts.problems), "stages": dict(texts.stages)}
    words = {**texts.script, **tables, "language": texts.language}
    filled |= {"language": texts.language, "words": json.dumps(words, ensure_ascii=False)}
    escaped = {name: escape(text) for name, text in filled.items()}
    return template.substitute(
        escaped,
        key_hidden="" if has_keys else " hidden",
        send_hidden=" hidden" if options.wants_keys else "",
    )


def _limits(text: str, limits: Limits) -> str:
    megapixels = f"{limits.pixels / 1e6:g}"
    return Template(text).substitute(megabytes=limits.body_mb, megapixels=megapixels)
