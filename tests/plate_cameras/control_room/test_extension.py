"""The control room's reports about its tasks and its database."""

import asyncio
import errno
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from plate_cameras.configuration import Configuration, read_configuration
from plate_cameras.control_room import extension
from plate_cameras.control_room.rest.change_feed import ChangeFeed
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.lists.plate_lists import PlateLists
from tests.plate_cameras.control_room.access.rooms import CAMERAS


def fail_away(*_: object) -> None:
    raise StoreUnavailable("connection refused")


def fail(*_: object) -> None:
    raise RuntimeError("a fault")


async def fail_later(*_: object) -> None:
    fail()


@pytest.mark.parametrize(
    ("owner", "name", "failure", "part"),
    [
        pytest.param(PlateLists, "describe", fail_away, "database", id="the database is away"),
        pytest.param(PlateLists, "describe", fail, "database", id="its check has a fault"),
        pytest.param(ChangeFeed, "run", fail_later, "live events", id="live events"),
        pytest.param(extension, "stamp_of", fail, "file of cameras", id="the file of cameras"),
    ],
)
async def test_what_fails_is_named_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, failure, part: str
) -> None:
    file = tmp_path / "CAMERAS.toml"
    file.write_text(CAMERAS)
    room = extension.open_control_room(GatewayOptions(cameras=file, limits=Limits(calls=1)))
    monkeypatch.setattr(owner, name, failure)
    (duty,) = map(asyncio.ensure_future, room.duties())
    while room.broken_parts() != [f"control room: {part}"]:
        await asyncio.sleep(0.01)
    assert not duty.done()
    duty.cancel()
    await asyncio.wait([duty])
    await room.close()


@pytest.mark.parametrize("failures", [0, 2], ids=["readable", "without descriptors at first"])
async def test_a_change_of_the_file_during_the_start_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    file, groups, remaining_failures = tmp_path / "CAMERAS.toml", asyncio.Queue[str](), failures

    def read(path: Path) -> Configuration:
        nonlocal remaining_failures
        if remaining_failures:
            remaining_failures -= 1
            raise SettingsError("no file") from OSError(errno.EMFILE, "Too many open files")
        configuration = read_configuration(path)
        loop.call_soon_threadsafe(groups.put_nowait, configuration.cameras[0].group)
        return configuration

    loop = asyncio.get_running_loop()
    file.write_text(CAMERAS)
    room = extension.open_control_room(GatewayOptions(cameras=file, limits=Limits(calls=1)))
    file.write_text(CAMERAS.replace("north", "south-east"))
    monkeypatch.setattr(extension, "read_configuration", read)
    monkeypatch.setattr(extension, "RELOAD_EVERY_S", 0.01)
    (duty,) = map(asyncio.ensure_future, room.duties())
    assert await asyncio.wait_for(groups.get(), 30) == "south-east"
    while room.broken_parts():
        await asyncio.sleep(0.01)
    duty.cancel()
    await asyncio.wait([duty])
    await room.close()
