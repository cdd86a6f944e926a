"""The page's HTML, from one template and the texts of a language."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from orchestrator.host.distribution import read_version
from orchestrator.serving.gateway.http.page.texts import Texts
from orchestrator.serving.gateway.options import GatewayOptions, Limits

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The page's Content-Security-Policy. It allows the page's own files and the reader's pictures."""

LICENCE_URL = "https://www.gnu.org/licenses/agpl-3.0.html"
SCRIPTS = (
    "page.js",
    "batch.js",
    "calls.js",
    "camera.js",
    "cards.js",
    "copies.js",
    "designs.js",
    "drawing.js",
    "glyphs.js",
    "intake.js",
    "key.js",
    "plates.js",
    "session.js",
    "stage.js",
    "table.js",
    "words.js",
)
"""The page's modules, which a browser loads at once."""


def render(texts: Texts, options: GatewayOptions) -> str:
    """Return the page in one language.

    Args:
        texts: Texts in the language.
        options: Options of the gateway, for the use of keys and the largest picture.

    Raises:
        KeyError: A text of the template is missing.
    """
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    values = dict(texts.page)
    has_keys = options.wants_keys or options.keys is not None
    values["limits"] = _limits(values["limits"], options.limits)
    values["key_hint"] = values["key_needed" if options.wants_keys else "key_optional"]
    if options.wants_keys:
        values["without_script"] = values["without_script_key"]
    access = {"has_keys": has_keys, "has_people": options.cameras is not None}
    words = json.dumps(_words(texts, options.limits) | access, ensure_ascii=False)
    values |= {"language": texts.language, "words": words}
    escaped_values = {name: escape(text) for name, text in values.items()}
    return template.substitute(
        escaped_values,
        preloads="\n".join(map(_preload, SCRIPTS)),
        footer=render_footer(texts, options),
        # The script shows the field to readers who have not logged in.
        key_hidden=" hidden" if options.cameras or not has_keys else "",
        live_hidden="" if options.cameras else " hidden",
        send_hidden=" hidden" if options.wants_keys else "",
    )


def render_footer(texts: Texts, options: GatewayOptions, root: str = "") -> str:
    """Return the footer of every page: the version, the licence, the source and the documentation.

    Args:
        texts: Texts in the language.
        options: Options of the gateway.
        root: Relative address of the root, from the page.
    """
    links = {"footer_licence": LICENCE_URL}
    if options.source_url:
        links["footer_source"] = options.source_url
    if options.has_plates:
        links["footer_docs"] = f"{root}docs"
    anchors = (
        f'<a href="{escape(url)}">{escape(texts.page[name])}</a>' for name, url in links.items()
    )
    version = escape(Template(texts.page["footer_version"]).substitute(version=read_version()))
    return f'<footer class="site-footer faint">{" · ".join([version, *anchors])}</footer>'


def render_missing(texts: Texts, options: GatewayOptions, reason: str, root: str) -> str:
    """Return the page for people at an address that has none.

    Args:
        texts: Texts in the language.
        options: Options of the gateway.
        reason: Reason of the problem.
        root: Relative address of the root, from the page.
    """
    links = {"title": ""} if options.has_plates else {}
    if options.cameras:
        links["live"] = "live"
    items = "".join(
        f'<li><a href="{f"{root}{path}" or "./"}">{escape(texts.page[name])}</a></li>'
        for name, path in links.items()
    )
    sentences = [texts.problems.get(reason, texts.problems["not served"])]
    if not options.cameras:
        sentences.append(texts.page["no_cameras"])
    template = Template(Path(__file__).with_name("missing.html").read_text(encoding="utf-8"))
    return template.substitute(
        language=texts.language,
        root=root,
        title=escape(sentences[0]),
        sentences="".join(f"<p>{escape(sentence)}</p>" for sentence in sentences[1:]),
        links=items,
        footer=render_footer(texts, options, root),
    )


def _preload(name: str) -> str:
    return f'<link rel="modulepreload" href="page/{name}">'


def _words(texts: Texts, limits: Limits) -> dict[str, Any]:
    """Return what the script says and knows."""
    return {
        **texts.script,
        "problems": dict(texts.problems),
        "sentences": dict(texts.details),
        "stages": dict(texts.stages),
        "formats": dict(texts.formats),
        "regions": dict(texts.regions),
        "language": texts.language,
        "limits": {"bytes": limits.body_mb * 2**20, "pixels": limits.pixels},
    }


def _limits(text: str, limits: Limits) -> str:
    megapixels = f"{limits.pixels / 1e6:g}"
    return Template(text).substitute(megabytes=limits.body_mb, megapixels=megapixels)
