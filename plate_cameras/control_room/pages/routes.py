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

STYLES = ("room.css", "forms.css", "live.css", "search.css", "pass.css", "lists.css", "cameras.css")
SCRIPTS = (
    "api.js",
    "areas.js",
    "camera_cards.js",
    "cameras.js",
    "chime.js",
    "counts.js",
    "dialogs.js",
    "downloads.js",
    "drafts.js",
    "entries.js",
    "entry_row.js",
    "evidence.js",
    "gates.js",
    "header.js",
    "heat_map.js",
    "imports.js",
    "language.js",
    "lists.js",
    "live.js",
    "live_rows.js",
    "login.js",
    "neighbours.js",
    "openings.js",
    "own_password.js",
    "pass.js",
    "passes.js",
    "people.js",
    "plate_requests.js",
    "query.js",
    "readings.js",
    "reasons.js",
    "search.js",
    "session.js",
    "stage.js",
    "states.js",
    "stream.js",
    "times.js",
    "tones.js",
)
FILES = {**dict.fromkeys(STYLES, "text/css"), **dict.fromkeys(SCRIPTS, "text/javascript")}
"""Content types by file name."""
LANGUAGE_COOKIE = "plates_language"
"""Cookie with the language that the reader has chosen, so that it holds on the next page."""
YEAR_S = 365 * 86400


def page_routes() -> list[Route]:
    """Return the routes of all pages and their files.

    Raises:
        SettingsError: A text of the pages is missing or wrong.
    """
    texts = read_room_texts()
    files = file_routes("/control/", Path(__file__).parent, FILES)
    # The same files as the first page has; a gateway without plates serves no first page.
    shared = file_routes("/page/", PAGE_FOLDER, PAGE_FILES)
    return [*(_page_route(page, texts) for page in PAGES), *files, *shared]


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
