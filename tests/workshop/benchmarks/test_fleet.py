"""The simulation of many cameras, with few of them."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from plate_cameras.passes import PassEvent
from workshop.benchmarks.fleet import made_events
from workshop.benchmarks.fleet.__main__ import main
from workshop.benchmarks.fleet.made_events import Traffic

NONE_LOST = (
    "events that the webhook did not get in a minute",
    "events that a person did not get in a minute",
    "streams that ended too early",
    "calls refused",
)


@pytest.fixture(autouse=True)
def _short_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_events, "VEHICLES", 50)
    monkeypatch.setattr(made_events, "UPDATED_S", 0.3)
    monkeypatch.setattr(made_events, "SEEN_S", 0.6)


def test_each_pass_has_three_events_in_their_order() -> None:
    async def collect() -> list[PassEvent]:
        return [event async for event in Traffic(20, 1.0).events(0.5)]

    events = asyncio.run(collect())
    kinds: dict[str, list[str]] = {}
    for event in events:
        kinds.setdefault(event.passed.id, []).append(event.kind)
    assert len(kinds) == 10
    assert {(*one,) for one in kinds.values()} == {("agreed", "updated", "closed")}


@pytest.mark.server
def test_people_and_the_webhook_get_every_event(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(tmp_path, cameras=20, every=1.0, seconds=1.0, people=2)

    printed = capsys.readouterr().out
    assert [re.search(f"{name} +(.*)", printed)[1].strip() for name in NONE_LOST] == ["0"] * 4  # type: ignore[index]
    assert "control room" in printed
    assert "newest passes" in printed
