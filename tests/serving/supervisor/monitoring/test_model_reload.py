"""A model is loaded again so that Triton really does it, and other models go on."""

import os
import threading
import time
from collections.abc import Iterator
from email.message import Message
from io import BytesIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.supervisor.monitoring import model_reload
from orchestrator.serving.supervisor.monitoring.model_reload import MAX_CONCURRENT, ModelReload
from orchestrator.serving.supervisor.options import ADMIN_HEADER, ServerOptions
from tests.waiting import until


class FakeRepository:
    """Triton's repository API, in place of `open_url`: notes requests, answers when it may."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.gate = threading.Event()
        self.gate.set()
        self.error: Exception | None = None

    def open(self, request: Request, timeout_s: float) -> BytesIO:
        self.requests.append(request)
        self.gate.wait(20)
        if self.error:
            raise self.error
        return BytesIO()

    @property
    def paths(self) -> list[str]:
        return [request.full_url.rpartition("repository/models/")[2] for request in self.requests]


@pytest.fixture
def triton(monkeypatch) -> Iterator[FakeRepository]:
    triton = FakeRepository()
    monkeypatch.setattr(model_reload, "open_url", triton.open)
    yield triton
    triton.gate.set()


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A repository with a network, and a model whose version has no files."""
    (tmp_path / "yolo" / "1").mkdir(parents=True)
    (tmp_path / "empty" / "1").mkdir(parents=True)
    (tmp_path / "yolo" / "1" / "model.xml").write_text("old")
    os.utime(tmp_path / "yolo" / "1" / "model.xml", (0, 0))
    return tmp_path


def load(model: str, *, has_others: bool = False, ours: Path | None = None) -> None:
    """Load a model again, and wait until it is loaded."""
    reload = ModelReload(ServerOptions(http_port=1, admin_key="key"), ours)
    reload.start(model, has_others=has_others)
    models: list[str] = []
    until(lambda: models.extend(reload.finish()) or models, "a model that was loaded")
    reload.close()
    assert (models, reload.is_loading(model)) == ([model], False)


def test_a_model_whose_other_workers_answer_is_loaded_beside_them(triton, ours) -> None:
    load("yolo", has_others=True, ours=ours)
    assert triton.paths == ["yolo/load"]
    assert (ours / "yolo" / "1" / "model.xml").stat().st_mtime > 0


def test_files_become_newer_after_the_clock_was_set_back(triton, ours) -> None:
    file = ours / "yolo" / "1" / "model.xml"
    ahead_s = int(time.time()) + 3600
    os.utime(file, (ahead_s, ahead_s))
    load("yolo", has_others=True, ours=ours)
    assert int(file.stat().st_mtime) > ahead_s


@pytest.mark.parametrize(
    ("model", "has_others", "is_ours"),
    [
        pytest.param("yolo", False, True, id="no worker answers"),
        pytest.param("yolo", True, False, id="files of somebody else"),
        pytest.param("double", True, True, id="a model of another repository"),
        pytest.param("empty", True, True, id="no file that can be made newer"),
    ],
)
def test_any_other_model_is_unloaded_before(
    triton, ours, model: str, has_others: bool, is_ours: bool
) -> None:
    load(model, has_others=has_others, ours=ours if is_ours else None)
    assert triton.paths == [f"{model}/unload", f"{model}/load"]
    assert (ours / "yolo" / "1" / "model.xml").stat().st_mtime == 0


def test_the_key_goes_to_an_address_and_to_no_name(triton) -> None:
    load("yolo")
    url, key = triton.requests[0].full_url, triton.requests[0].get_header(ADMIN_HEADER.capitalize())
    assert (url, key) == ("http://127.0.0.1:1/v2/repository/models/yolo/unload", "key")


def test_models_do_not_wait_for_each_other_and_closing_waits_for_none(triton) -> None:
    triton.gate.clear()
    reload = ModelReload(ServerOptions(), None)
    names = [f"model{number}" for number in range(MAX_CONCURRENT + 1)]
    for name in names:
        reload.start(name, has_others=False)
    until(lambda: len(triton.requests) == MAX_CONCURRENT, "all that are loaded at once")
    assert reload.finish() == {}
    assert [reload.is_loading(name) for name in (names[0], "lprnet")] == [True, False]
    reload.close()  # before the gate opens
    triton.gate.set()
    until(lambda: len(triton.requests) == 2 * MAX_CONCURRENT, "those that had begun to end")
    assert f"{names[-1]}/unload" not in triton.paths


def bad_request(body: bytes) -> HTTPError:
    return HTTPError("http://x", 400, "Bad Request", Message(), BytesIO(body))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(bad_request(b'{"error": "no such file"}'), "no such file", id="a reason"),
        pytest.param(bad_request(b'{"error": "no\\nroom\\n"}'), "no room", id="of two lines"),
        pytest.param(bad_request(b"<html>"), "HTTP Error 400: Bad Request", id="no JSON"),
        pytest.param(bad_request(b"{}"), "HTTP Error 400: Bad Request", id="JSON without a reason"),
        pytest.param(ConnectionRefusedError("refused"), "refused", id="a server that is away"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_an_error_with_its_reason(
    triton, error: Exception, reason: str
) -> None:
    triton.error = error
    reload = ModelReload(ServerOptions(), None)
    reload.start("stn", has_others=False)
    ends: dict[str, ServerError | None] = {}
    until(lambda: ends.update(reload.finish()) or ends, "a model that was not loaded")
    reload.close()
    assert str(ends["stn"]) == f"stn/unload: {reason}"
