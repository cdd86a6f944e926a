"""The control room's reports about its tasks and its database."""

import asyncio
from pathlib import Path

import pytest

from orchestrator.serving.gateway.options import GatewayOptions, Limits
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
