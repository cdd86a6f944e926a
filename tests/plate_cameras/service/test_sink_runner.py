"""Sinks that run, fail and are replaced."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.background_tasks import BackgroundTasks
from plate_cameras.configuration import Camera, Configuration, Sink
from plate_cameras.service import sink_runner
from plate_cameras.service.sink_runner import SinkRunner
from tests.plate_cameras.watching.fakes import no_sleep

ERP, LOG = Sink("erp", "webhook", "https://erp.example/"), Sink("log", "jsonl", "log.jsonl")
SITE = Configuration((Camera("gate", "rtsp://10.0.0.5/"),), sinks=(ERP,))


class ScriptedDeliverer:
    """A deliverer that delivers nothing, and fails on request."""

    instances: list["ScriptedDeliverer"]

    def __init__(self, receivers: Mapping[str, object], *_: object) -> None:
        self.receivers, self.fails = receivers, asyncio.Event()
        self.runs, self.enable_count, self.is_stopped = 0, 0, False
        self.statuses = self.tasks = ()
        self.waiting = 0
        self.instances.append(self)

    async def run(self) -> None:
        self.runs += 1
        try:
            await self.fails.wait()
            raise RuntimeError("a queue has failed")
        finally:
            self.is_stopped = True

    def enable(self) -> None:
        self.enable_count += 1

    async def drain(self, within_s: float) -> int:
        return self.waiting

    def describe_waiting(self) -> list[str]:
        return ["sink erp: some wait"]


@pytest.fixture
def deliverers(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedDeliverer]:
    """The deliverers that a runner has created."""
    deliverers: list[ScriptedDeliverer] = []
    monkeypatch.setattr(ScriptedDeliverer, "instances", deliverers, raising=False)
    monkeypatch.setattr(sink_runner, "Deliverer", ScriptedDeliverer)

    def make(configuration: Configuration, **_: object) -> dict[str, object]:
        if any(sink.url == "" for sink in configuration.sinks):
            raise SettingsError("wanted an address")
        return {sink.name: object() for sink in configuration.sinks}

    monkeypatch.setattr(sink_runner, "make_receivers", make)
    return deliverers


async def apply(runner: SinkRunner, configuration: Configuration) -> None:
    await runner.commit(configuration, await runner.prepare(configuration))
    await asyncio.sleep(0.01)


def make_runner() -> SinkRunner:
    return SinkRunner(object(), BackgroundTasks(sleep=no_sleep))  # type: ignore[arg-type]


async def test_new_sinks_are_made_before_the_old_ones_are_stopped(
    deliverers: list[ScriptedDeliverer],
) -> None:
    runner = make_runner()
    await apply(runner, SITE)
    with pytest.raises(SettingsError):
        await runner.prepare(replace(SITE, sinks=(ERP, replace(LOG, url=""))))
    assert not deliverers[0].is_stopped
    await apply(runner, replace(SITE, sinks=(ERP, LOG)))
    assert (deliverers[0].is_stopped, [*deliverers[1].receivers]) == (True, ["erp", "log"])
    await runner.stop()
    assert deliverers[1].is_stopped


async def test_the_same_sinks_go_on_and_are_enabled(deliverers: list[ScriptedDeliverer]) -> None:
    runner = make_runner()
    await apply(runner, SITE)
    await apply(runner, replace(SITE, metrics_port=9100))
    assert (len(deliverers), deliverers[0].enable_count, deliverers[0].is_stopped) == (1, 1, False)
    await runner.stop()


async def test_sinks_whose_secret_was_changed_in_its_file_are_made_again(
    deliverers: list[ScriptedDeliverer], tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_text("first")
    site = replace(SITE, sinks=(replace(ERP, secrets=(f"file:{file}",)), LOG))
    runner = make_runner()
    await apply(runner, site)
    await apply(runner, site)
    assert (len(deliverers), deliverers[0].is_stopped) == (1, False)
    file.write_text("second")
    await apply(runner, site)
    assert (len(deliverers), deliverers[0].is_stopped) == (2, True)
    await runner.stop()


async def test_sinks_that_fail_are_started_again_with_new_receivers(
    deliverers: list[ScriptedDeliverer],
) -> None:
    runner = make_runner()
    await apply(runner, SITE)
    deliverers[0].fails.set()
    await asyncio.sleep(0.01)
    assert [deliverer.runs for deliverer in deliverers] == [1, 1]
    assert deliverers[0].receivers["erp"] is not deliverers[1].receivers["erp"]
    await runner.stop()


async def test_without_sinks_nothing_runs(deliverers: list[ScriptedDeliverer]) -> None:
    runner = make_runner()
    await apply(runner, SITE)
    await apply(runner, replace(SITE, sinks=()))
    assert deliverers[0].is_stopped
    assert (len(deliverers), runner.statuses) == (1, ())


@pytest.mark.parametrize(("waiting", "messages"), [(0, []), (2, ["sink erp: some wait"])])
async def test_the_last_events_are_delivered_or_told(
    deliverers: list[ScriptedDeliverer], waiting: int, messages: list[str]
) -> None:
    runner, lines = make_runner(), list[str]()
    await apply(runner, SITE)
    deliverers[0].waiting = waiting
    await runner.finish(lines.append)
    assert lines == messages
    await runner.stop()
