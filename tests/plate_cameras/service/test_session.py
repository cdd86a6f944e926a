"""A run of `plates watch` with a real sink and store, and an unreachable camera."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from plate_cameras.background_tasks import FatalTaskError
from plate_cameras.configuration import Camera, Configuration, Store, read_configuration
from plate_cameras.service.pass_table import PassTable
from plate_cameras.service.session import Session, Watch, watch
from plate_cameras.sources.decoders import Decoders
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.pass_store import PassStore
from plate_cameras.watching.event_writer import EventWriter
from tests.plate_cameras.samples import make_event
from tests.plate_cameras.service.failing_stream import FailingStream
from tests.plate_cameras.sinks.test_webhook import SECRET, Erp
from tests.plate_cameras.streams import beside, wait
from tests.plate_cameras.watching.fakes import ScriptedService
from tests.waiting import until

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
ALL = PassTable(is_json=True, is_all=True)
NO_SINKS = Configuration((Camera("gate", "rtsp://127.0.0.1:1/none"),))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassStore]:
    with closing(open_store(Store(), tmp_path)) as store_:
        yield store_


def plan_of(
    configuration: Configuration,
    store: PassStore,
    file: Path | None = None,
    table: PassTable = QUIET,
) -> Watch:
    return Watch(configuration, file, ScriptedService(), 1, table, store)


@pytest.mark.server
def test_a_touch_of_the_file_enables_a_sink_whose_receiver_was_gone(
    tmp_path: Path, store: PassStore, caplog: pytest.LogCaptureFixture
) -> None:
    erp, file = Erp([web.Response(status=410)]), tmp_path / "CAMERAS.toml"

    async def act(url: str) -> None:
        file.write_text(CAMERAS.format(url=url, secret=SECRET))
        configuration = read_configuration(file)
        store.write([make_event()], configuration.sinks)
        async with beside(watch(plan_of(configuration, store, file))):
            await wait(lambda: "wants no more events" in caplog.text, "a receiver that is gone")
            later_s = file.stat().st_mtime + 5
            os.utime(file, (later_s, later_s))
            await wait(lambda: not store.outbox.waiting("erp"), "an accepted event")

    erp.serve(act)
    assert len(erp.requests) == 2


@pytest.mark.server
async def test_passes_that_a_killed_watch_left_open_are_closed(store: PassStore) -> None:
    others = make_event("agreed", id_="other", camera="yard")
    store.write([make_event("agreed", id_="left"), others], [])
    async with beside(watch(plan_of(NO_SINKS, store))):
        await wait(lambda: progress_of(store, "left") == "closed", "a pass that is closed")
    assert progress_of(store, "other") == "agreed"


JSONL = """
[[cameras]]
name = "gate"
url = "rtsp://127.0.0.1:1/none"

[[sinks]]
name = "log"
type = "jsonl"
url = "{log}"
events = ["closed"]
"""
WRONG_SINK = """
[[sinks]]
name = "erp"
type = "webhook"
url = "https://erp.example/"
secrets = ["env:NOT_SET"]
"""
WRONG_OPTION = """
[[sinks]]
name = "other"
type = "jsonl"
url = "other.jsonl"
options = { rotate_bytes = "many" }
"""
WRONG_GATE = """
[[gates]]
name = "main"
type = "http"
url = "http://10.0.0.9/"
cameras = ["gate"]
lists = ["residents"]
options = { method = "OPEN" }
"""


@pytest.mark.server
@pytest.mark.parametrize("wrong", [WRONG_SINK, WRONG_OPTION, WRONG_GATE])
async def test_a_wrong_file_changes_nothing_and_the_next_one_is_taken(
    tmp_path: Path, store: PassStore, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    log, file = tmp_path / "log.jsonl", tmp_path / "CAMERAS.toml"
    good = JSONL.format(log=log)
    file.write_text(good)
    outputs: list[str] = []

    def has_told(text: str) -> bool:
        outputs.append(capsys.readouterr().err)
        return text in "".join(outputs)

    async with session_of(plan_of(read_configuration(file), store, file)) as session:
        steps = {"": "", good + wrong: "not reloaded", good + "\n# right\n": f"reloaded {file}"}
        for number, (content, message) in enumerate(steps.items(), 1):
            if content:
                file.write_text(content)
                await wait(lambda message=message: has_told(message), message)
            await session._receive(make_event(id_=f"{number}"))
            await wait(lambda number=number: count_lines(log) == number, "another delivery")


@pytest.mark.server
async def test_a_full_standard_output_ends_nothing(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = FailingStream(OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(sys, "stdout", full)
    async with session_of(plan_of(NO_SINKS, store, table=ALL)) as session:
        await session._receive(make_event(id_="one"))
        await session._receive(make_event(id_="two"))
        await wait(lambda: session._writer.written == 2, "two stored events")
        await wait(lambda: session.snapshot().lines_lost > 1, "lost lines")
        assert session._health.find_dead() == []


@pytest.mark.server
async def test_a_vital_task_that_fails_ends_the_watch_with_its_reason(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: EventWriter) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr(EventWriter, "run", fail)
    with pytest.raises(FatalTaskError, match="task writer has failed: MemoryError: no memory"):
        await asyncio.wait_for(watch(plan_of(NO_SINKS, store)), 30)


@pytest.mark.server
async def test_the_health_of_a_watch_names_dead_tasks(
    store: PassStore, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METRICS_KEY", "word")
    configuration = replace(NO_SINKS, metrics_port=free_port, metrics_key="env:METRICS_KEY")
    url = f"http://127.0.0.1:{free_port}"
    async with session_of(plan_of(configuration, store)) as session:
        await wait(lambda: session._writer is not None, "a writer")
        assert await asyncio.to_thread(ask, url) == (200, "ok\n")
        assert (await asyncio.to_thread(ask, url, "metrics"))[0] == 401
        task = session._watcher._entries["gate"].task
        task.cancel()
        await asyncio.wait({task})
        assert await asyncio.to_thread(ask, url) == (503, "camera gate\n")


HANGING = """
import asyncio, sys, threading
from contextlib import closing
from pathlib import Path
from plate_cameras.configuration import Camera, Configuration, Store
from plate_cameras.store.factory import open_store
from plate_cameras.service.ending import Ending
from plate_cameras.watching.event_writer import EventWriter
from plate_cameras.service.pass_table import PassTable
from plate_cameras.service.session import Session, Watch
from plate_cameras.sources.decoders import Decoders
from tests.plate_cameras.samples import make_event
from tests.plate_cameras.watching.fakes import ScriptedService
from tests.waiting import until

async def main(store, ending):
    plan = Watch(Configuration((Camera("gate", "rtsp://127.0.0.1:1/none"),)), None,
                 ScriptedService(), 1, PassTable(is_json=False, is_all=False), store, ending=ending)
    async with Decoders() as decoders:
        session = Session(plan, decoders)
        asyncio.get_running_loop().call_later(1, lambda: asyncio.ensure_future(put(session)))
        await session.run()

async def put(session):
    await session._receive(make_event())
    Path(sys.argv[1], "ready").touch()

ending = Ending(2, tell_s=0.5, outlives=True)
with ending.limit(), closing(open_store(Store(), Path(sys.argv[1]))) as store:
    store.write = lambda events, sinks: threading.Event().wait()
    asyncio.run(main(store, ending))
"""


@pytest.mark.server
def test_a_hanging_store_does_not_hold_up_the_end_of_the_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HANGING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            until(Path(tmp_path, "ready").exists, "an event on its way to the store")
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 1
    steps = b"the store, 1 event that is not stored"
    assert b"plates: ending, within 2 s. It waits for " + steps in errors
    assert b"plates: ended after 2 s, without " + steps in errors


def count_lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


def ask(url: str, path: str = "healthz") -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"{url}/{path}") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@asynccontextmanager
async def session_of(plan: Watch) -> AsyncIterator[Session]:
    """Run a session during a `with` block, which begins once its cameras are followed."""
    async with Decoders() as decoders:
        session = Session(plan, decoders)
        task = asyncio.create_task(session.run())
        try:
            await wait(lambda: task.done() or bool(session.cameras()), "cameras")
            yield session
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def progress_of(store: PassStore, pass_id: str) -> str:
    return store.get(pass_id, Requester("test", "test")).found_pass.progress
