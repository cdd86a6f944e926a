"""Routes of the page and its files, which are public and hold no private data.

Their requests are not calls: they need no key, use no quota and are not counted. The page sends
pictures to `/v1/recognize`, like any other caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from orchestrator.serving.gateway.errors import Outcome
from orchestrator.serving.gateway.http.page.html import CSP, SCRIPTS, render, render_missing
from orchestrator.serving.gateway.http.page.texts import LANGUAGES, choose_language, read_texts
from orchestrator.serving.gateway.http.problem_details import DESCRIBED
from orchestrator.serving.gateway.options import GatewayOptions

FOLDER = Path(__file__).parent
SAMPLES = ("sample-street.jpg", "sample-kinds.jpg", "sample-car.jpg")
"""The sample pictures; docs/page.md says what drew them."""
FILES = {
    "page.css": "text/css",
    "plates.css": "text/css",
    "results.css": "text/css",
    "docs.css": "text/css",
    "docs.js": "text/javascript",
    **dict.fromkeys(SCRIPTS, "text/javascript"),
    "icon.svg": "image/svg+xml",
    **dict.fromkeys(SAMPLES, "image/jpeg"),
}
"""Content types by file name."""
LANGUAGE_COOKIE = "plates_language"
"""Cookie with the language that the reader has chosen, so that it holds on the next page."""
YEAR_S = 365 * 86400
GUARD_HEADERS = {
    "content-security-policy": CSP,
    "cross-origin-resource-policy": "same-origin",
    # Not "no-referrer": browsers then send `Origin: null` with the page's own form.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
"""Headers of every answer here. The server may be newer than the files in a browser's cache."""


def routes(options: GatewayOptions) -> list[Route]:
    """Return the routes of the page.

    Raises:
        SettingsError: A text of the page is missing or wrong.
    """
    pages = {name: render(texts, options) for name, texts in read_texts().items()}

    async def home(request: Request) -> Response:
        response = answer_page(request, pages)
        response.headers.update(DESCRIBED)
        return response

    return [Route("/", home), *file_routes("/page/", FOLDER, FILES)]


def answer_page(request: Request, pages: Mapping[str, str], status: int = 200) -> Response:
    """Return a page in the reader's language: the one of `?lang=`, which is kept, or the browser's.

    Args:
        request: The request.
        pages: The page by language.
        status: HTTP status.
    """
    query_language = request.query_params.get("lang")
    preference = (
        query_language if query_language in LANGUAGES else request.cookies.get(LANGUAGE_COOKIE)
    )
    language = choose_language(preference, request.headers.get("accept-language", ""))
    headers = GUARD_HEADERS | {
        "content-language": language,
        "vary": "accept, accept-language, cookie",
    }
    response = Response(pages[language], status, headers, media_type="text/html")
    if query_language in LANGUAGES:
        response.set_cookie(
            LANGUAGE_COOKIE, language, max_age=YEAR_S, samesite="strict", httponly=True
        )
    return response


def wants_page(scope: Scope) -> bool:
    """Tell whether a person with a browser asks, and not a program."""
    is_reading = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
    return is_reading and "text/html" in Headers(scope=scope).get("accept", "")


def missing_page(scope: Scope, options: GatewayOptions, outcome: Outcome) -> Response:
    """Return the page for people at an address that has none, with the status of the problem."""
    root = "../" * max(0, scope["path"].count("/") - 1)
    texts = read_texts().items()
    pages = {name: render_missing(words, options, outcome.reason, root) for name, words in texts}
    return answer_page(Request(scope), pages, outcome.status)


def file_routes(prefix: str, folder: Path, kinds: Mapping[str, str]) -> list[Route]:
    """Return routes of public files.

    Args:
        prefix: Start of their paths.
        folder: Folder of the files.
        kinds: Content types by file name.
    """
    return [_file(prefix + name, folder / name, kind) for name, kind in kinds.items()]


def _file(path: str, file: Path, kind: str) -> Route:
    content = file.read_bytes()

    async def send(_request: Request) -> Response:
        return Response(content, media_type=kind, headers=GUARD_HEADERS)

    return Route(path, send)
