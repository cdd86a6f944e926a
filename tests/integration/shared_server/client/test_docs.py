"""The recipes of docs/client.md for applications and for other languages.

test_docs.py runs the page's Python scripts.
"""

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as Posted
from starlette.responses import JSONResponse
from starlette.routing import Route

from orchestrator import AsyncPlateClient
from orchestrator.serving.supervisor.ports import free_ports
from tests.integration.conftest import InFront
from tests.samples import PROJECT, STREET, TEXTS
from tests.waiting import until

PAGE = (PROJECT / "docs" / "client.md").read_text(encoding="utf-8")
HEADED = re.findall(r"^## (?:\d+\. )?([^\n]+)\n.*?^```\w+\n(.*?)^```$", PAGE, re.M | re.S)
BLOCKS = dict(HEADED)


def here(block: str, gateway: InFront) -> str:
    """Return the block with the address of the test's gateway."""
    return block.replace("localhost:8000", str(gateway.options.http))


@pytest.mark.parametrize(("title", "file"), [("Node", "recipe.mjs"), ("Go", "recipe.go")])
def test_another_language_reads_the_plates(
    gateway: InFront, tmp_path: Path, title: str, file: str
) -> None:
    command = {"Node": ["node", file], "Go": ["go", "run", file]}[title]
    if not shutil.which(command[0]):
        pytest.skip(f"needs {title}")
    shutil.copy(STREET, tmp_path / "car.jpg")
    (tmp_path / file).write_text(here(BLOCKS[title], gateway))
    environment = {**os.environ, "GOCACHE": str(tmp_path / "cache")}
    child = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    assert all(text in child.stdout for text in TEXTS)


@contextmanager
def serving(app: object) -> Iterator[str]:
    """Run an ASGI application; yield its URL."""
    (port,) = free_ports(1)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, "the application listens")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def post(url: str, body: bytes) -> list[str]:
    with urlopen(Request(url, body, method="POST"), timeout=60) as answer:
        return [plate["text"] for plate in json.load(answer)["plates"]]


def test_a_fastapi_application_reads_the_plates(gateway: InFront) -> None:
    pytest.importorskip("fastapi")
    names: dict[str, object] = {}
    exec(here(BLOCKS["FastAPI"], gateway), names)
    with serving(names["app"]) as url:
        assert post(f"{url}/gate", STREET.read_bytes()) == TEXTS


def test_a_flask_application_reads_the_plates(gateway: InFront) -> None:
    pytest.importorskip("flask")
    names: dict[str, object] = {"__name__": "application"}
    exec(here(BLOCKS["Flask"], gateway), names)
    caller = names["app"].test_client()
    answer = caller.post("/gate", data=STREET.read_bytes())
    assert [plate["text"] for plate in answer.json["plates"]] == TEXTS
    refusal = caller.post("/gate", data=b"no picture")
    assert refusal.status_code == 400
    assert refusal.json["error"].startswith("encoded_image: ")
    names["plates"].close()


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_an_application_of_starlette_serves_many_at_once(gateway: InFront, scheme: str) -> None:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        address = getattr(gateway.options, scheme)
        async with AsyncPlateClient(f"{scheme}://{address}", retries=3) as app.state.plates:
            yield

    async def gate(request: Posted) -> JSONResponse:
        plates = await request.app.state.plates.recognize(await request.body())
        return JSONResponse(plates.to_dict())

    app = Starlette(routes=[Route("/", gate, methods=["POST"])], lifespan=lifespan)
    with serving(app) as url, ThreadPoolExecutor(6) as threads:
        assert [*threads.map(post, [url] * 6, [STREET.read_bytes()] * 6)] == [TEXTS] * 6
