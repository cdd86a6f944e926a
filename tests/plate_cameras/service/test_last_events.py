"""Events that receivers get at the end of `plates watch --once`."""

import asyncio
import json
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.plates import Plates
from plate_cameras.configuration import read_configuration
from plate_cameras.service import sink_runner
from plate_cameras.service.pass_table import PassTable
from plate_cameras.service.session import Watch, watch
from plate_cameras.store.factory import open_store
from tests.plate_cameras.clips import encode, street
from tests.plate_cameras.store.stored_events import make_plate
from tests.plate_cameras.watching.fakes import ScriptedService

SINK = '[[sinks]]\nname = "log"\ntype = "jsonl"\nurl = "{}"\nevents = ["agreed", "closed"]\n'
CAMERA = '[[cameras]]\nname = "gate"\nurl = "{}"\n\n'


def run_once(folder: Path, sink: Path) -> int:
    """Watch a clip with one vehicle to its end; return the number of events that still wait."""
    file, clip = folder / "CAMERAS.toml", folder / "clip.mp4"
    clip.write_bytes(encode(street(60)))
    file.write_text(CAMERA.format(clip) + SINK.format(sink))
    configuration = read_configuration(file)
    service = ScriptedService(Plates((make_plate("A123BC77"),)))
    table = PassTable(is_json=False, is_all=False)
    with closing(open_store(configuration.store, folder)) as store:
        asyncio.run(watch(Watch(configuration, file, service, 1, table, store, is_once=True)))
        return store.outbox.waiting("log")


@pytest.mark.server
def test_the_last_events_are_delivered_before_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    assert run_once(tmp_path, log) == 0
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["type"] for event in events] == ["pass.agreed", "pass.closed"]
    assert "wait for the next run" not in capsys.readouterr().err


@pytest.mark.server
def test_events_that_a_receiver_does_not_take_are_told_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_runner, "LAST_DELIVERY_S", 0.5)
    assert run_once(tmp_path, Path("/dev/full")) == 2
    message = "sink log: 2 events wait for the next run: cannot write: No space left on device"
    assert message in capsys.readouterr().err
