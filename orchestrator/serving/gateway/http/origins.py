"""Middleware against pages of other sites, which run in the browsers of this service's users.

A browser sends the looked-up name as Host, and the site of the calling page as Origin. A foreign
name that resolves to this service (DNS rebinding) is refused, and so is a foreign page.

Source: RFC 9110, 7.2 (Host); W3C Fetch Metadata; Fetch standard, "CORS protocol".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Scope

from orchestrator.host.loopback import is_own
from orchestrator.serving.gateway.errors import BadHost, ForeignHost, ForeignOrigin
from orchestrator.serving.gateway.options import Address

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
"""Names of this machine. Nobody else can make them resolve to another address."""
METHODS = ("GET", "HEAD", "POST")
PROBES = re.compile(
    "/healthz|/readyz|/v2/health/(live|ready)|/v2/models/[^/]+(/versions/[^/]+)?/ready"
)
"""Paths that load balancers ask by HTTP/1.0, which has no Host header. No browser does so."""
SENT_HEADERS = (
    "authorization",
    "content-type",
    "inference-header-content-length",
    "traceparent",
    "tracestate",
    "x-api-key",
    "x-request-id",
)
SHOWN_HEADERS = ("inference-header-content-length", "retry-after", "x-request-id")
HOST = re.compile(r"[a-z0-9_.-]+|\[[a-f0-9:.]+\]")
ORIGIN = re.compile(rf"(?P<scheme>https?)://({HOST.pattern})(:(?P<port>[0-9]{{1,5}}))?")
USUAL_PORTS = {"http": "80", "https": "443"}
ELSEWHERE = ("cross-site", "same-site")
"""Values of Sec-Fetch-Site in requests from pages of other origins."""


@dataclass(frozen=True)
class Origins:
    """The names and pages that may call.

    Attributes:
        hosts: Names that a Host header may have, in lower case, without ports. If None, any name.
        origins: Origins of other sites whose pages may call, `scheme://host[:port]`.
    """

    hosts: frozenset[str] | None
    origins: frozenset[str] = frozenset()

    @classmethod
    def at(cls, address: Address, allowed_hosts: Iterable[str], origins: Iterable[str]) -> Origins:
        """Return the names and origins for a gateway that listens at an address.

        Args:
            address: Address of the gateway. On loopback, only names of this machine may be used.
                Elsewhere any name may be used, unless `allowed_hosts` has some.
            allowed_hosts: Further names.
            origins: The attribute `origins`.
        """
        allowed_hosts = {name.lower() for name in allowed_hosts}
        names = None
        if allowed_hosts or is_own(address.host):
            own = f"[{address.host}]" if ":" in address.host else address.host
            names = frozenset({*LOOPBACK, own, *allowed_hosts})
        return cls(names, frozenset(origins))

    def check(self, scope: Scope) -> None:
        """Check that a request is for a name of this service, and not from a foreign page.

        Raises:
            GatewayError: The name or the page is foreign.
        """
        headers = Headers(scope=scope)
        host = self._check_host(headers.getlist("host"), scope)
        origins = headers.getlist("origin")
        if len(origins) > 1:
            raise ForeignOrigin(f"origin: wanted one, got {len(origins)}")
        if origins:
            self._check_origin(origins[0], host)
        elif headers.get("sec-fetch-site") in ELSEWHERE and not _is_navigation(scope, headers):
            raise ForeignOrigin("wanted a request of this service's page, got one of another site")

    def _check_host(self, hosts: list[str], scope: Scope) -> str:
        """Return the host of a request if it is a name of this service."""
        is_nameless = not hosts and scope["http_version"] == "1.0"  # which has no Host header
        if is_nameless and (self.hosts is None or PROBES.fullmatch(scope["path"])):
            return ""
        if len(hosts) != 1 or not hosts[0]:
            raise BadHost(f"host: wanted one, got {len(hosts) if any(hosts) else 'none'}")
        host = hosts[0]
        end = host.find("]") + 1  # of an IPv6 address
        name, _, port = host[end:].partition(":")
        is_port = not port or (port.isascii() and port.isdigit())
        if self.hosts is not None and not (is_port and (host[:end] + name).lower() in self.hosts):
            raise ForeignHost(
                f"host: wanted one of {', '.join(sorted(self.hosts))}, got {host[:100]!r}; "
                "the operator names others with --allowed-host"
            )
        return host

    def _check_origin(self, origin: str, host: str) -> None:
        scheme, _, netloc = origin.partition("://")
        is_same = scheme in {"http", "https"} and bool(host) and netloc.lower() == host.lower()
        if not is_same and origin not in self.origins:
            raise ForeignOrigin(
                f"origin: wanted this service's own page, got {origin[:100]!r}; "
                "the operator allows others with --cors-origin"
            )


def _is_navigation(scope: Scope, headers: Headers) -> bool:
    """Tell whether a reader follows a link. The other site does not see the answer."""
    is_reading = scope["method"] in {"GET", "HEAD"}
    navigation = ("navigate", "document")
    return is_reading and navigation == (
        headers.get("sec-fetch-mode"),
        headers.get("sec-fetch-dest"),
    )


def allow_pages(app: ASGIApp, origins: Origins) -> ASGIApp:
    """Return an application that also answers the preflights of allowed pages of other sites."""
    if not origins.origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=origins.origins,
        allow_methods=METHODS,
        allow_headers=SENT_HEADERS,
        expose_headers=SHOWN_HEADERS,
        allow_private_network=True,
    )


def is_host(text: str) -> bool:
    """Tell whether a text is a name or an address as browsers write it, without a port."""
    return HOST.fullmatch(text) is not None


def is_origin(text: str) -> bool:
    """Tell whether a text is an origin as browsers write it: without the scheme's usual port."""
    match = ORIGIN.fullmatch(text)
    return match is not None and match["port"] != USUAL_PORTS[match["scheme"]]
