"""The page of docs/rest.md, served from another origin, in a real browser."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from orchestrator.serving.gateway.options import Address, GatewayOptions
from orchestrator.serving.supervisor.ports import free_ports
from tests.browser.conftest import running
from tests.docs.blocks import blocks
from tests.http_servers import running_http
from tests.samples import STREET, TEXTS

SERVER = "localhost:8000"


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """Serve a folder; yield its origin."""
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    with running_http(handler) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.mark.parametrize(
    ("is_allowed", "words"), [(True, sorted(TEXTS)), (False, ["Failed", "fetch", "to"])]
)
def test_only_a_page_of_an_allowed_site_reads_plates(
    browser: Any, options: GatewayOptions, tmp_path: Path, is_allowed: bool, words: list[str]
) -> None:
    (recipe,) = [block.text for block in blocks("html")]
    http, metrics = (Address("127.0.0.1", port) for port in free_ports(2))
    (tmp_path / "index.html").write_text(recipe.replace(SERVER, str(http)))
    with site(tmp_path) as origin:
        origins = (origin,) if is_allowed else ()
        with running(replace(options, http=http, metrics=metrics, cors_origins=origins)):
            page = browser.new_page()
            page.goto(origin)
            page.set_input_files("input", STREET)
            status = page.locator("[role=status]")
            page.wait_for_function(
                "status => !['', 'Reading...'].includes(status.textContent)",
                arg=status.element_handle(),
            )
            assert sorted(re.findall(r"\w+", status.text_content())) == words
            page.close()
