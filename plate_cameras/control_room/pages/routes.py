"""The pages of the control room, rendered in each language, and the routes of their files.

They are public and hold no private data. The scripts ask the REST API for everything else; it knows
the reader by a session or a key.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.serving.gateway.extension import (
    LANGUAGES,
    PAGE_FILES,
    PAGE_FOLDER,
    GatewayOptions,
    answer_page,
    file_routes,
    render_footer,
)
from plate_cameras.control_room.room_texts import RoomTexts, read_room_texts

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
    Page("inside", "/inside", "inside"),
    Page("lists", "/lists", "lists"),
    Page("cameras", "/cameras", "cameras"),
    Page("gates", "/gates", "gates"),
    Page("people", "/people", "people"),
    Page("login", "/login", "login"),
)
LINKS = tuple(page for page in PAGES if page.name == page.current and page.name != "login")
"""The pages of the navigation."""


def render_page(page: Page, texts: RoomTexts, options: GatewayOptions) -> str:
    """Return a page in one language.

    Raises:
        KeyError: A text of a template is missing.
    """
    page_texts = {name: escape(text) for name, text in texts.page.items()}
    content = _read_template(page.name).substitute(page_texts, root=page.root)
    return _read_template("layout").substitute(
        page_texts,
        language=texts.language,
        title=escape(texts.titles[page.name]),
        root=page.root,
        name=page.name,
        words=escape(json.dumps(_words(texts), ensure_ascii=False)),
        links="\n".join(_link(link, page, texts) for link in LINKS),
        photos=_photos(page, texts) if options.has_plates else "",
        footer=render_footer(texts.shared_texts, options, page.root),
        preloads="\n".join(_preloads(page)),
        content=content,
    )


def _read_template(name: str) -> Template:
    return Template(Path(__file__).with_name(f"{name}.html").read_text(encoding="utf-8"))


def _link(target: Page, page: Page, texts: RoomTexts) -> str:
    current = ' aria-current="page"' if target.name == page.current else ""
    needs = ' data-needs="administrator"' if target.name == "people" else ""
    href, title = page.root + target.path[1:], escape(texts.titles[target.name])
    return f'<a href="{href}"{current}{needs}>{title}</a>'


def _photos(page: Page, texts: RoomTexts) -> str:
    """Return the link to the page that reads photos."""
    return f'<a href="{page.root or "./"}">{escape(texts.page["photos"])}</a>'


def _preloads(page: Page) -> list[str]:
    files = [f"page/{name}" for name in SHARED_SCRIPTS]
    files += [f"control/{name}" for name in (*ROOM_SCRIPTS, f"{page.name}.js")]
    return [f'<link rel="modulepreload" href="{page.root}{file}">' for file in files]


def _words(texts: RoomTexts) -> dict[str, Any]:
    """Return the texts and names that the scripts need."""
    shared_texts = texts.shared_texts
    return {
        **{name: shared_texts.script[name] for name in SHARED_WORDS},
        **texts.script,
        "problems": {**shared_texts.problems, **texts.problems},
        "sentences": {**shared_texts.details, **texts.details},
        "formats": dict(shared_texts.formats),
        "regions": dict(shared_texts.regions),
        "language": texts.language,
    }


FOLDER = Path(__file__).parent
TYPES = {".css": "text/css", ".js": "text/javascript"}
"""Content types of the files that pages load."""


def page_routes(options: GatewayOptions) -> list[Route]:
    """Return the routes of all pages and their files.

    Args:
        options: Options of the gateway.

    Raises:
        SettingsError: A text of the pages is missing or wrong.
    """
    texts = read_room_texts()
    files = file_routes("/control/", FOLDER, find_files())
    # The same files as the first page has; a gateway without plates serves no first page.
    shared_files = file_routes("/page/", PAGE_FOLDER, PAGE_FILES)
    return [*(_page_route(page, texts, options) for page in PAGES), *files, *shared_files]


def find_files() -> dict[str, str]:
    """Return the content types of all styles and scripts, by file name."""
    files = sorted(file for file in FOLDER.iterdir() if file.suffix in TYPES)
    return {file.name: TYPES[file.suffix] for file in files}


def _page_route(page: Page, texts: dict[str, RoomTexts], options: GatewayOptions) -> Route:
    pages = {name: render_page(page, texts[name], options) for name in LANGUAGES}

    async def show(request: Request) -> Response:
        return answer_page(request, pages)

    return Route(page.path, show)
