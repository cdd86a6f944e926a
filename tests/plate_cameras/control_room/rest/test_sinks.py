"""Receivers of events over HTTP: who may see and test them, and what is told."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from plate_cameras.configuration import Sink
from plate_cameras.control_room.rest import sinks
from tests.plate_cameras.control_room.rest.rooms import EDITOR, OF_THE_EAST, RestRoom

SECRET = "/very-secret"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture(autouse=True)
def _sinks(room: RestRoom, file: Path) -> None:
    sinks = (
        Sink("log", "jsonl", str(file), ("agreed",), lists=("residents",), unknown=True),
        Sink("east", "webhook", f"https://127.0.0.1:1{SECRET}", cameras=("gate",)),
        Sink("chat", "notify", "env:NOT_HERE"),
    )
    room.room.configuration = replace(room.room.configuration, sinks=sinks)


def test_sinks_are_listed_without_their_addresses(room: RestRoom) -> None:
    answer = room.get("/v1/sinks")
    assert answer["sinks"][0] == {"name": "log", "type": "jsonl", "events": ["agreed"]}
    assert SECRET not in json.dumps(answer)


def test_a_test_goes_past_the_filters_and_is_recorded(room: RestRoom, file: Path) -> None:
    answer = room.client.post("/v1/sinks/log/tests", headers={"X-Reason": "new chat"})
    assert (answer.status_code, answer.json()) == (200, {"accepted": True, "problem": ""})
    (event,) = map(json.loads, file.read_text().splitlines())
    assert (event["type"], event["data"]["text"], event["data"]["camera"]) == (
        "test",
        "A000AA77",
        "test",
    )
    assert room.kinds() == [("local", "new chat", "test sink", 1)]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("east", "wanted a public address", id="wrong settings"),
        pytest.param("chat", "environment variable NOT_HERE|`make cameras` installs", id="secret"),
    ],
)
def test_a_failure_is_told_without_the_address(room: RestRoom, name: str, problem: str) -> None:
    answer = room.client.post(f"/v1/sinks/{name}/tests").json()
    assert not answer["accepted"]
    assert any(part in answer["problem"] for part in problem.split("|"))
    assert SECRET not in answer["problem"]


def test_tests_that_wait_for_their_receivers_are_few(
    room: RestRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    are_waiting, is_over = threading.Barrier(3, timeout=60), threading.Event()

    async def wait(_: Sink) -> None:
        await asyncio.to_thread(are_waiting.wait)
        await asyncio.to_thread(is_over.wait, 60)

    def send() -> int:
        return room.client.post("/v1/sinks/log/tests").status_code

    monkeypatch.setattr(sinks, "try_sink", wait)
    with ThreadPoolExecutor() as threads:
        statuses = [threads.submit(send) for _ in range(2)]
        are_waiting.wait()
        assert send() == 429
        is_over.set()
        assert [status.result() for status in statuses] == [200, 200]


def test_only_administrators_of_all_its_cameras_see_a_sink(room: RestRoom, file: Path) -> None:
    room.enter_as(OF_THE_EAST)
    assert [sink["name"] for sink in room.get("/v1/sinks")["sinks"]] == ["east"]
    assert room.client.post("/v1/sinks/log/tests").status_code == 404
    room.enter_as(EDITOR)
    assert room.client.get("/v1/sinks").status_code == 403
    assert room.client.post("/v1/sinks/log/tests").status_code == 403
    assert not file.exists()
