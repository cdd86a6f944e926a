"""What docs/client.md shows works as it stands there: every code block is run."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import cv2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as Posted
from starlette.responses import JSONResponse
from starlette.routing import Route

from orchestrator import AsyncPlateClient
from orchestrator.server.ports import free_ports
from tests.integration.conftest import InFront
from tests.samples import PROJECT, STREET, TEXTS
from tests.waiting import until

PAGE = (PROJECT / "docs" / "client.md").read_text(encoding="utf-8")
HEADED = re.findall(r"^## (?:\d+\. )?([^\n]+)\n.*?^```(\w+)\n(.*?)^```$", PAGE, re.M | re.S)
BLOCKS = {title: block for title, _, block in HEADED}
APPS = {"FastAPI": "fastapi", "Flask": "flask"}
NEEDED = {**APPS, "supervision": "supervision"}
"""Packages that are no dependency."""
SCRIPTS = [title for title, language, _ in HEADED if language == "python" and title not in APPS]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the examples name."""
    (tmp_path / "folder").mkdir()
    for name in ("car.jpg", "folder/a.jpg", "folder/b.jpg"):
        shutil.copy(STREET, tmp_path / name)
    street = cv2.imread(str(STREET))
    height, width = street.shape[:2]
    code = cv2.VideoWriter.fourcc(*"MJPG")
    film = cv2.VideoWriter(str(tmp_path / "camera.avi"), code, 5, (width, height))
    for _ in range(4):
        film.write(street)
    film.release()
    (tmp_path / "camera.avi").rename(tmp_path / "camera.mp4")  # by its content it is still known
    return tmp_path


def here(block: str, gateway: InFront) -> str:
    """The block with the address of the test's gateway."""
    return block.replace("localhost:8080", str(gateway.options.http))


def run(command: list[str], folder: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def needs(package: str) -> None:
    if package:
        pytest.importorskip(package)


def test_every_block_is_run_here() -> None:
    assert len(HEADED) == len(BLOCKS) == PAGE.count("\n```") // 2
    languages = {title: language for title, language, _ in HEADED}
    others = {title: languages[title] for title in languages if title not in SCRIPTS}
    assert others == {
        "curl": "sh",
        "Node": "js",
        "Go": "go",
        "FastAPI": "python",
        "Flask": "python",
    }


@pytest.mark.parametrize("title", SCRIPTS)
def test_python_reads_the_plates(gateway: InFront, folder: Path, title: str) -> None:
    needs(NEEDED.get(title, ""))
    printed = run([sys.executable, "-c", here(BLOCKS[title], gateway)], folder)
    assert all(text in printed for text in TEXTS)


@pytest.mark.parametrize(
    ("title", "program", "file"), [("curl", "sh", "run.sh"), ("Node", "node", "run.mjs")]
)
def test_a_script_reads_the_plates(
    gateway: InFront, folder: Path, title: str, program: str, file: str
) -> None:
    if not (shutil.which(program) and shutil.which(title.lower())):
        pytest.skip(f"needs {title}")
    (folder / file).write_text(here(BLOCKS[title], gateway))
    assert all(text in run([program, file], folder) for text in TEXTS)


@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_go_reads_the_plates(gateway: InFront, folder: Path) -> None:
    (folder / "main.go").write_text(here(BLOCKS["Go"], gateway))
    printed = run(["go", "run", "main.go"], folder, GOCACHE=str(folder / "cache"))
    assert all(text in printed for text in TEXTS)


@contextmanager
def serving(app: object) -> Iterator[str]:
    """Run an ASGI application; gives its URL."""
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
    needs("fastapi")
    named: dict[str, object] = {}
    exec(here(BLOCKS["FastAPI"], gateway), named)
    with serving(named["app"]) as url:
        assert post(f"{url}/gate", STREET.read_bytes()) == TEXTS


def test_a_flask_application_reads_the_plates(gateway: InFront) -> None:
    needs("flask")
    named: dict[str, object] = {"__name__": "application"}
    exec(here(BLOCKS["Flask"], gateway), named)
    caller = named["app"].test_client()
    answer = caller.post("/gate", data=STREET.read_bytes())
    assert [plate["text"] for plate in answer.json["plates"]] == TEXTS
    refused = caller.post("/gate", data=b"no picture")
    assert refused.status_code == 400
    assert refused.json["error"].startswith("encoded_image: ")
    named["plates"].close()


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
