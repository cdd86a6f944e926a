"""A model is loaded again so that Triton really does it, and other models go on."""

import os
import threading
from collections.abc import Callable, Iterator
from email.message import Message
from io import BytesIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from orchestrator.errors import ServerError
from orchestrator.supervisor import model_reload
from orchestrator.supervisor.model_reload import MOST_AT_ONCE, ModelReload
from orchestrator.supervisor.options import ADMIN_HEADER, ServerOptions
from tests.waiting import until

OPTIONS = ServerOptions(http_port=1, admin_key="key", start_timeout_s=7)


class Repository:
    """Triton's repository API, in place of `open_url`: notes requests, and answers at once."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.gate = threading.Event()
        self.gate.set()
        self.error: Exception | None = None

    def open(self, request: Request, timeout_s: float) -> BytesIO:
        assert timeout_s == OPTIONS.start_timeout_s
        self.requests.append(request)
        self.gate.wait(20)
        if self.error:
            raise self.error
        return BytesIO()

    @property
    def paths(self) -> list[str]:
        return [request.full_url.rpartition("repository/models/")[2] for request in self.requests]


@pytest.fixture
def triton(monkeypatch) -> Iterator[Repository]:
    triton = Repository()
    monkeypatch.setattr(model_reload, "open_url", triton.open)
    yield triton
    triton.gate.set()


@pytest.fixture
def reload(triton) -> Iterator[Callable[..., ModelReload]]:
    """Make one, with a repository of ours or without."""
    made: list[ModelReload] = []

    def make(ours: Path | None = None) -> ModelReload:
        made.append(ModelReload(OPTIONS, ours))
        return made[-1]

    yield make
    for one in made:
        one.close()


def wait_for(reload: ModelReload) -> list[str]:
    loaded: list[str] = []
    until(lambda: loaded.extend(reload.finish()) or loaded, "a model that was loaded")
    return loaded


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A repository with a network, and a model whose version has no files."""
    (tmp_path / "yolo" / "1").mkdir(parents=True)
    (tmp_path / "empty" / "1").mkdir(parents=True)
    (tmp_path / "yolo" / "1" / "model.xml").write_text("old")
    os.utime(tmp_path / "yolo" / "1" / "model.xml", (0, 0))
    return tmp_path


def changed_s(ours: Path) -> float:
    return (ours / "yolo" / "1" / "model.xml").stat().st_mtime


def test_a_model_whose_other_workers_answer_is_loaded_beside_them(triton, reload, ours) -> None:
    one = reload(ours)
    one.start("yolo", has_others=True)
    assert wait_for(one) == ["yolo"]
    assert triton.paths == ["yolo/load"]
    assert changed_s(ours) > 0


def test_the_key_goes_to_an_address_and_to_no_name(triton, reload) -> None:
    one = reload()
    one.start("yolo", has_others=False)
    wait_for(one)
    url, key = triton.requests[0].full_url, triton.requests[0].get_header(ADMIN_HEADER.capitalize())
    assert (url, key) == ("http://127.0.0.1:1/v2/repository/models/yolo/unload", "key")


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
    triton, reload, ours, model: str, has_others: bool, is_ours: bool
) -> None:
    one = reload(ours if is_ours else None)
    one.start(model, has_others=has_others)
    assert wait_for(one) == [model]
    assert triton.paths == [f"{model}/unload", f"{model}/load"]
    assert changed_s(ours) == 0


def test_models_do_not_wait_for_each_other(triton, reload) -> None:
    triton.gate.clear()
    one = reload()
    one.start("yolo", has_others=False)
    one.start("stn", has_others=False)
    until(lambda: len(triton.requests) == 2, "both to be requested")
    assert one.finish() == []
    assert [one.is_loading(model) for model in ("yolo", "stn", "lprnet")] == [True, True, False]
    triton.gate.set()
    until(lambda: not {"yolo", "stn"} - {*one.finish()} or len(triton.requests) == 4, "both loaded")


def test_closing_waits_for_no_load_and_cancels_those_that_have_not_begun(triton, reload) -> None:
    triton.gate.clear()
    one = reload()
    names = [f"model{number}" for number in range(MOST_AT_ONCE + 1)]
    for name in names:
        one.start(name, has_others=False)
    until(lambda: len(triton.requests) == MOST_AT_ONCE, "all that are loaded at once")
    one.close()  # would wait for the gate
    triton.gate.set()
    until(lambda: len(triton.requests) == 2 * MOST_AT_ONCE, "those that had begun to end")
    assert not any(path.startswith(names[-1]) for path in triton.paths)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b'{"error": "no such file"}', "no such file", id="Triton's words"),
        pytest.param(b"<html>", "HTTP Error 400: Bad Request", id="no JSON"),
        pytest.param(b"{}", "HTTP Error 400: Bad Request", id="JSON without a reason"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_an_error_with_tritons_reason(
    triton, reload, body: bytes, reason: str
) -> None:
    triton.error = HTTPError("http://x", 400, "Bad Request", Message(), BytesIO(body))
    one = reload()
    one.start("broken", has_others=False)
    with pytest.raises(ServerError, match=f"^broken/unload: {reason}$"):
        wait_for(one)
    assert not one.is_loading("broken")


def test_a_server_that_is_away_is_an_error(triton, reload) -> None:
    triton.error = ConnectionRefusedError("connection refused")
    one = reload()
    one.start("stn", has_others=False)
    with pytest.raises(ServerError, match=r"^stn/unload: connection refused$"):
        wait_for(one)
