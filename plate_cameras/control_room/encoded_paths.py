"""Routes whose names may have a slash: percent-encoded, it is no border between parts of a path."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.routing import Match, Route
from starlette.types import Scope


class EncodedRoute(Route):
    """A route that is found by the path as it was sent, before its decoding.

    So `/v1/cameras/yard%2F1` is the camera `yard/1`. Paths whose fixed parts are encoded, which no
    usual client sends, are found after the decoding.

    Source: RFC 3986, section 2.2: encoding a reserved character changes a path.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether a request is for this route, with the decoded parts of its path."""
        sent = scope.get("raw_path")
        if sent is not None:
            match, child = super().matches({**scope, "path": sent.decode("latin-1")})
            if match is not Match.NONE:
                given = child["path_params"]
                decoded = {name: unquote(given[name]) for name in self.param_convertors}
                return match, {**child, "path_params": given | decoded}
        return super().matches(scope)
