"""Routes of the pages and their files, which are public and hold no private data.

The scripts ask the REST API for everything else; it knows the reader by a session or a key.
"""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.serving.gateway.extension import (
    GUARDED,
    LANGUAGES,
    PAGE_FILES,
    PAGE_FOLDER,
    choose_language,
    file_routes,
)
from plate_cameras.control_room.pages.html import (
    PAGES,
    Page,
    RoomTexts,
    read_room_texts,
    render_page,
)

FOLDER = Path(__file__).parent
TYPES = {".css": "text/css", ".js": "text/javascript"}
"""Content types of the files that pages load."""
LANGUAGE_COOKIE = "plates_language"
"""Cookie with the language that the reader has chosen, so that it holds on the next page."""
YEAR_S = 365 * 86400


def page_routes() -> list[Route]:
    """Return the routes of all pages and their files.

    Raises:
        SettingsError: A text of the pages is missing or wrong.
    """
    texts = read_room_texts()
    files = file_routes("/control/", FOLDER, find_files())
    # The same files as the first page has; a gateway without plates serves no first page.
    shared = file_routes("/page/", PAGE_FOLDER, PAGE_FILES)
    return [*(_page_route(page, texts) for page in PAGES), *files, *shared]


def find_files() -> dict[str, str]:
    """Return the content types of all styles and scripts, by file name."""
    found = sorted(file for file in FOLDER.iterdir() if file.suffix in TYPES)
    return {file.name: TYPES[file.suffix] for file in found}


def _page_route(page: Page, texts: dict[str, RoomTexts]) -> Route:
    rendered = {name: render_page(page, texts[name]) for name in LANGUAGES}

    async def show(request: Request) -> Response:
        asked = request.query_params.get("lang")
        kept = asked if asked in LANGUAGES else request.cookies.get(LANGUAGE_COOKIE)
        language = choose_language(kept, request.headers.get("accept-language", ""))
        headers = GUARDED | {
            "content-language": language,
            "vary": "accept-language, cookie",
        }
        response = Response(rendered[language], media_type="text/html", headers=headers)
        if asked in LANGUAGES:
            response.set_cookie(
                LANGUAGE_COOKIE, language, max_age=YEAR_S, samesite="strict", httponly=True
            )
        return response

    return Route(page.path, show)
