"""A run of `plates watch` with a real sink and store; its camera is away."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest
from aiohttp import web

from orchestrator.cameras.configuration import read_configuration
from orchestrator.cameras.store.factory import open_store
from orchestrator.cameras.store.pass_query import Requester
from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.cli.watch.pass_table import PassTable
from orchestrator.cli.watch.session import Watch, watch
from tests.cameras.samples import make_event
from tests.cameras.sinks.test_webhook import SECRET, Erp
from tests.cameras.streams import wait
from tests.cameras.watching.fakes import ScriptedService

CAMERAS = """
[[cameras]]
name = "gate"
url = "rtsp://127.0.0.1:1/none"

[[sinks]]
name = "erp"
type = "webhook"
url = "{url}"
secrets = ["{secret}"]
private_addresses = true
"""

QUIET = PassTable(is_json=False, is_all=False)


@pytest.mark.server
def test_a_touch_of_the_file_enables_a_sink_whose_receiver_was_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    erp, file = Erp([web.Response(status=410)]), tmp_path / "CAMERAS.toml"

    async def act(url: str) -> None:
        file.write_text(CAMERAS.format(url=url, secret=SECRET))
        configuration = read_configuration(file)
        with closing(open_store(configuration.store, tmp_path)) as store:
            store.write([make_event()], configuration.sinks)
            plan = Watch(configuration, file, ScriptedService(), 1, QUIET, store)
            async with running(plan):
                await wait(lambda: "wants no more events" in caplog.text, "a receiver that is gone")
                later_s = file.stat().st_mtime + 5
                os.utime(file, (later_s, later_s))
                await wait(lambda: not store.outbox.waiting("erp"), "an accepted event")

    erp.serve(act)
    assert len(erp.requests) == 2


@pytest.mark.server
def test_passes_that_a_killed_watch_left_open_are_closed(tmp_path: Path) -> None:
    file = tmp_path / "CAMERAS.toml"
    file.write_text(CAMERAS.partition("[[sinks]]")[0])
    configuration = read_configuration(file)

    async def act(store: PassStore) -> None:
        plan = Watch(configuration, file, ScriptedService(), 1, QUIET, store)
        async with running(plan):
            await wait(lambda: progress_of(store, "left") == "closed", "a pass that is closed")

    with closing(open_store(configuration.store, tmp_path)) as store:
        others = make_event("agreed", id_="other", camera="yard")
        store.write([make_event("agreed", id_="left"), others], [])
        asyncio.run(act(store))
        assert progress_of(store, "other") == "agreed"


def progress_of(store: PassStore, pass_id: str) -> str:
    return store.get(pass_id, Requester("test", "test")).found.progress


@asynccontextmanager
async def running(plan: Watch) -> AsyncIterator[None]:
    task = asyncio.create_task(watch(plan))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
