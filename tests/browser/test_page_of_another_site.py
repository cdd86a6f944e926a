"""The page of docs/rest.md, served from another origin, in a real browser."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from orchestrator.serving.gateway.options import Address, GatewayOptions
from orchestrator.serving.supervisor.ports import free_ports
from tests.browser.conftest import running
from tests.docs.blocks import blocks
from tests.samples import STREET, TEXTS

SERVER = "localhost:8000"


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and logs nothing."""

    def log_message(self, *_: object) -> None: ...


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """Serve a folder; yield its origin."""
    handler = partial(Quiet, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


@pytest.fixture
def told(browser: Any, options: GatewayOptions, tmp_path: Path, request: Any) -> str:
    """The last words of the page after a photo was chosen."""
    (recipe,) = [block.text for block in blocks("html")]
    http, metrics = (Address("127.0.0.1", port) for port in free_ports(2))
    (tmp_path / "index.html").write_text(recipe.replace(SERVER, str(http)))
    with site(tmp_path) as origin:
        allowed = (origin,) if request.param else ()
        moved = replace(options, http=http, metrics=metrics, cors_origins=allowed)
        with running(moved):
            page = browser.new_page()
            page.goto(origin)
            page.set_input_files("input", STREET)
            status = page.locator("[role=status]")
            page.wait_for_function(
                "status => !['', 'Reading...'].includes(status.textContent)",
                arg=status.element_handle(),
            )
            words = status.text_content()
            page.close()
    return str(words)


@pytest.mark.parametrize("told", [pytest.param(True, id="allowed")], indirect=True)
def test_a_page_of_an_allowed_site_reads_plates(told: str) -> None:
    assert sorted(re.findall(r"\w+", told)) == sorted(TEXTS)


@pytest.mark.parametrize("told", [pytest.param(False, id="not allowed")], indirect=True)
def test_a_page_of_another_site_reads_nothing(told: str) -> None:
    assert told == "Failed to fetch"
