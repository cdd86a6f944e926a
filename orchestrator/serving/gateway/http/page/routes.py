"""Routes of the page and its files, which are public and hold no private data.

Their requests are not calls: they need no key, use no quota and are not counted. The page sends
pictures to `/v1/recognize`, like any other caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.serving.gateway.http.page.html import CSP, SCRIPTS, render
from orchestrator.serving.gateway.http.page.texts import choose_language, read_texts
from orchestrator.serving.gateway.http.problem_details import DESCRIBED
from orchestrator.serving.gateway.options import GatewayOptions

FOLDER = Path(__file__).parent
SAMPLES = ("sample-street.jpg", "sample-kinds.jpg", "sample-car.jpg")
"""The sample pictures, which `workshop.rendering.page_samples` draws."""
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
GUARDED = {
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
        accepted = request.headers.get("accept-language", "")
        language = choose_language(request.query_params.get("lang"), accepted)
        headers = GUARDED | DESCRIBED | {"content-language": language, "vary": "accept-language"}
        return Response(pages[language], media_type="text/html", headers=headers)

    return [Route("/", home), *file_routes("/page/", FOLDER, FILES)]


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
        return Response(content, media_type=kind, headers=GUARDED)

    return Route(path, send)
