"""The only door for packages that bring more routes: all that they may import of the gateway.

A package names its extension as an entry point, see `entry_points`. The gateway opens the
extension of cameras if it has a file of cameras.
"""

from __future__ import annotations

from functools import partial

from orchestrator.serving.gateway.data_plane import DataPlane, Identify
from orchestrator.serving.gateway.entry_points import OPEN_CAMERAS, load_entry_point
from orchestrator.serving.gateway.errors import (
    RETRY_AFTER_S,
    ForeignOrigin,
    GatewayError,
    NotFound,
    Outcome,
    QuotaExceeded,
    ServiceFull,
    Unauthenticated,
    UnsupportedMedia,
)
from orchestrator.serving.gateway.http.api_docs.openapi_schemas import ApiPart, describe_models
from orchestrator.serving.gateway.http.endpoint import Endpoint, HttpRequest, announced_size
from orchestrator.serving.gateway.http.extension import Extension, OpenExtension
from orchestrator.serving.gateway.http.origins import ELSEWHERE
from orchestrator.serving.gateway.http.page.html import render_footer
from orchestrator.serving.gateway.http.page.routes import FILES as PAGE_FILES
from orchestrator.serving.gateway.http.page.routes import FOLDER as PAGE_FOLDER
from orchestrator.serving.gateway.http.page.routes import answer_page, file_routes
from orchestrator.serving.gateway.http.page.texts import LANGUAGES, Texts, read_texts
from orchestrator.serving.gateway.http.problem_details import MEDIA_TYPE, problem
from orchestrator.serving.gateway.http.rest_routes import REST
from orchestrator.serving.gateway.http.schemas import Model
from orchestrator.serving.gateway.options import GatewayOptions
from orchestrator.serving.gateway.policy.clients import KEY_PREFIX, PERSON_PREFIX, Client, client_at

__all__ = [
    "ELSEWHERE",
    "KEY_PREFIX",
    "LANGUAGES",
    "MEDIA_TYPE",
    "PAGE_FILES",
    "PAGE_FOLDER",
    "PERSON_PREFIX",
    "REST",
    "RETRY_AFTER_S",
    "ApiPart",
    "Client",
    "DataPlane",
    "Endpoint",
    "Extension",
    "ForeignOrigin",
    "GatewayError",
    "GatewayOptions",
    "HttpRequest",
    "Identify",
    "Model",
    "NotFound",
    "Outcome",
    "QuotaExceeded",
    "ServiceFull",
    "Texts",
    "Unauthenticated",
    "UnsupportedMedia",
    "announced_size",
    "answer_page",
    "client_at",
    "describe_models",
    "file_routes",
    "find_extension",
    "problem",
    "read_texts",
    "render_footer",
]


def find_extension(options: GatewayOptions) -> OpenExtension | None:
    """Return what opens the extension that the options ask for; None if they ask for none.

    Raises:
        SettingsError: No installed package provides the extension.
    """
    if options.cameras is None:
        return None
    return partial(load_entry_point(OPEN_CAMERAS), options)
