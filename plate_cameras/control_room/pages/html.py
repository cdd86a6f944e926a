"""The HTML of the pages, from templates and the texts of a language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from orchestrator.host.toml_files import read_table
from orchestrator.serving.gateway.extension import LANGUAGES, Texts, read_texts


@dataclass(frozen=True)
class OwnTexts:
    """The sentences of the control room in one language, as their file has them.

    Attributes:
        script: Texts of the scripts. The scripts replace each `{name}` in them.
        problems: Texts about failed requests, by the reason of the problem.
    """

    language: str
    titles: Mapping[str, str]
    page: Mapping[str, str]
    script: Mapping[str, str]
    problems: Mapping[str, str]


@dataclass(frozen=True)
class RoomTexts(OwnTexts):
    """The texts of the control room in one language, together with those of the first page."""

    shared: Texts


def read_room_texts() -> dict[str, RoomTexts]:
    """Return the texts by language.

    Raises:
        SettingsError: A text in a file is missing or wrong.
    """
    shared, folder = read_texts(), Path(__file__).parent
    files = {name: read_table(OwnTexts, folder / f"{name}.toml") for name in LANGUAGES}
    return {name: RoomTexts(**vars(own), shared=shared[name]) for name, own in files.items()}


SHARED_WORDS = ("latin", "cyrillic", "copy", "copy_text", "copy_done", "copied", "select")
"""Texts of the first page's script whose modules these pages use, too."""
SHARED_SCRIPTS = ("words.js", "drawing.js", "glyphs.js", "designs.js", "copies.js")
"""Modules of the first page that most pages load."""
ROOM_SCRIPTS = ("api.js", "session.js", "header.js", "passes.js", "times.js", "tones.js")
"""Modules of the control room that most pages load."""


@dataclass(frozen=True)
class Page:
    """A page of the control room.

    Attributes:
        name: Name of its template, script and title.
        path: Its path, in Starlette's form.
    """

    name: str
    path: str
    current: str

    @property
    def root(self) -> str:
        """The relative address of the root, from this page."""
        return "../" * (self.path.count("/") - 1)


PAGES = (
    Page("live", "/live", "live"),
    Page("search", "/passes", "search"),
    Page("pass", "/passes/{id}", "search"),
    Page("lists", "/lists", "lists"),
    Page("cameras", "/cameras", "cameras"),
    Page("gates", "/gates", "gates"),
    Page("people", "/people", "people"),
    Page("login", "/login", "login"),
)
LINKS = tuple(page for page in PAGES if page.name == page.current and page.name != "login")
"""The pages of the navigation."""


def render_page(page: Page, texts: RoomTexts) -> str:
    """Return a page in one language.

    Raises:
        KeyError: A text of a template is missing.
    """
    escaped = {name: escape(text) for name, text in texts.page.items()}
    content = _read(page.name).substitute(escaped, root=page.root)
    return _read("layout").substitute(
        escaped,
        language=texts.language,
        title=escape(texts.titles[page.name]),
        root=page.root,
        name=page.name,
        words=escape(json.dumps(_words(texts), ensure_ascii=False)),
        links="\n".join(_link(link, page, texts) for link in LINKS),
        preloads="\n".join(_preloads(page)),
        content=content,
    )


def _read(name: str) -> Template:
    return Template(Path(__file__).with_name(f"{name}.html").read_text(encoding="utf-8"))


def _link(target: Page, page: Page, texts: RoomTexts) -> str:
    current = ' aria-current="page"' if target.name == page.current else ""
    needs = ' data-needs="administrator"' if target.name == "people" else ""
    href, title = page.root + target.path[1:], escape(texts.titles[target.name])
    return f'<a href="{href}"{current}{needs}>{title}</a>'


def _preloads(page: Page) -> list[str]:
    files = [f"page/{name}" for name in SHARED_SCRIPTS]
    files += [f"control/{name}" for name in (*ROOM_SCRIPTS, f"{page.name}.js")]
    return [f'<link rel="modulepreload" href="{page.root}{file}">' for file in files]


def _words(texts: RoomTexts) -> dict[str, Any]:
    """Return what the scripts say and know."""
    shared = texts.shared
    return {
        **{name: shared.script[name] for name in SHARED_WORDS},
        **texts.script,
        "problems": {**shared.problems, **texts.problems},
        "formats": dict(shared.formats),
        "regions": dict(shared.regions),
        "language": texts.language,
    }
