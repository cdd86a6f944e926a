"""Serves the metrics of a watch, and whether it is alive."""

from __future__ import annotations

import hmac
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from orchestrator.errors import SettingsError
from plate_cameras.watching.metrics import Snapshot, SnapshotCollector

HEALTH = "/healthz"
IDLE_S = 10.0
"""Longest wait for a request, so that silent connections keep no threads."""


class _Handler(WSGIRequestHandler):
    timeout = IDLE_S

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def serve_metrics(
    take: Callable[[], Snapshot],
    host: str,
    port: int,
    find_dead: Callable[[], Sequence[str]] = lambda: (),
    key: str = "",
) -> Callable[[], None]:
    """Serve the metrics at any path, and the state of the tasks at `/healthz`.

    Args:
        take: Returns the state.
        host: Address to listen on.
        port: Port to listen on.
        find_dead: Returns the names of dead tasks.
        key: Key that the metrics want, because they name cameras; empty for none.

    Returns:
        A function that ends the server.

    Raises:
        SettingsError: Nothing can listen there.
    """
    registry = CollectorRegistry()
    registry.register(SnapshotCollector(take))
    metrics = make_wsgi_app(registry)

    def answer(environ, start_response):  # type: ignore[no-untyped-def]  # by PEP 3333
        if environ["PATH_INFO"] != HEALTH:
            if key and not _has_key(environ, key):
                start_response("401 Unauthorized", [("WWW-Authenticate", "Bearer")])
                return [b"send metrics_key as `Authorization: Bearer KEY`\n"]
            return metrics(environ, start_response)
        dead = find_dead()
        status = "503 Service Unavailable" if dead else "200 OK"
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return ["".join(f"{name}\n" for name in dead or ["ok"]).encode()]

    try:
        server = make_server(host, port, answer, _server_of(host), handler_class=_Handler)
        thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"metrics_port: cannot listen on {host}:{port}: {reason}") from error

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop


def _has_key(environ: Mapping[str, str], key: str) -> bool:
    given = environ.get("HTTP_AUTHORIZATION", "").encode("latin-1")
    return hmac.compare_digest(given, f"Bearer {key}".encode())


def _server_of(host: str) -> type[WSGIServer]:
    """Return a class of servers for the family of an address."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)

    class Server(ThreadingWSGIServer):
        address_family = found[0][0]

    return Server
