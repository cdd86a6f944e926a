"""A model is loaded again so that Triton really does it, and others go on."""

import http.server
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.errors import ServerError
from orchestrator.supervisor.model_reload import ModelReload
from orchestrator.supervisor.options import ADMIN_HEADER, ServerOptions
from tests.waiting import until


class Repository(http.server.BaseHTTPRequestHandler):
    """Triton's repository API: notes what it is asked, and loads while it may."""

    def do_POST(self) -> None:
        self.server.asked.append((self.path.split("models/")[1], self.headers[ADMIN_HEADER]))
        self.server.gate.wait(20)
        is_broken = "broken/load" in self.path
        self.send_response(400 if is_broken else 200)
        self.end_headers()
        self.wfile.write(b'{"error": "no such file"}' if is_broken else b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def triton() -> Iterator[http.server.ThreadingHTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Repository) as server:
        server.asked, server.gate = [], threading.Event()
        server.gate.set()
        threading.Thread(target=server.serve_forever).start()
        yield server
        server.gate.set()
        server.shutdown()


def replacing(triton: http.server.ThreadingHTTPServer, ours: Path | None = None) -> ModelReload:
    options = ServerOptions(http_port=triton.server_port, admin_key="key")
    return ModelReload(options, ours)


def finished(replacing: ModelReload) -> list[str]:
    found: list[str] = []
    until(lambda: found.extend(replacing.finish()) or found, "a model that was replaced")
    return found


def asked(triton: http.server.ThreadingHTTPServer) -> list[str]:
    return [path for path, _ in triton.asked]


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "yolo" / "1").mkdir(parents=True)
    (tmp_path / "yolo" / "1" / "model.xml").write_text("old")
    os.utime(tmp_path / "yolo" / "1" / "model.xml", (0, 0))
    return tmp_path


def test_a_model_whose_other_workers_answer_is_loaded_beside_them(triton, models) -> None:
    one = replacing(triton, models)
    one.begin("yolo", has_others=True)
    assert finished(one) == ["yolo"]
    assert triton.asked == [("yolo/load", "key")]
    assert (models / "yolo" / "1" / "model.xml").stat().st_mtime > 0


def test_a_model_with_no_worker_left_is_unloaded_before(triton, models) -> None:
    one = replacing(triton, models)
    one.begin("yolo", has_others=False)
    assert finished(one) == ["yolo"]
    assert asked(triton) == ["yolo/unload", "yolo/load"]


def test_files_of_somebody_else_are_not_touched(triton, models) -> None:
    one = replacing(triton)
    one.begin("yolo", has_others=True)
    assert finished(one) == ["yolo"]
    assert asked(triton) == ["yolo/unload", "yolo/load"]
    assert (models / "yolo" / "1" / "model.xml").stat().st_mtime == 0


def test_a_model_of_another_repository_is_unloaded_before(triton, models) -> None:
    one = replacing(triton, models)
    one.begin("double", has_others=True)
    assert finished(one) == ["double"]
    assert asked(triton) == ["double/unload", "double/load"]


def test_models_do_not_wait_for_each_other(triton) -> None:
    triton.gate.clear()
    one = replacing(triton)
    one.begin("yolo", has_others=False)
    one.begin("stn", has_others=False)
    until(lambda: len(triton.asked) == 2, "both to be asked for")
    assert one.finish() == []
    assert [one.is_under_way(model) for model in ("yolo", "stn", "lprnet")] == [True, True, False]
    triton.gate.set()
    until(lambda: len(triton.asked) == 4, "both to be loaded")


def test_what_triton_says_is_told_of_a_model_that_cannot_be_loaded(triton) -> None:
    one = replacing(triton)
    one.begin("broken", has_others=False)
    with pytest.raises(ServerError, match=r"^broken/load: no such file$"):
        finished(one)


def test_the_key_goes_to_an_address_and_to_no_name(triton, monkeypatch) -> None:
    asked_for: list[object] = []

    def resolve(host: object, *more: object, resolve=socket.getaddrinfo, **named: object) -> object:
        asked_for.append(host)
        return resolve(host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    one = replacing(triton)
    one.begin("yolo", has_others=False)
    assert finished(one) == ["yolo"]
    assert {*asked_for} == {"127.0.0.1"}


def test_a_server_that_is_away_cannot_replace_anything() -> None:
    one = ModelReload(ServerOptions(http_port=1), None)
    one.begin("stn", has_others=False)
    with pytest.raises(ServerError, match=r"^stn/unload: .*refused"):
        finished(one)
