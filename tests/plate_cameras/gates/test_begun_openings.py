"""Gates of several watchers on one store, and a store that does not answer."""

import threading
from collections.abc import Callable

import pytest

from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera, Configuration
from plate_cameras.gates import begun_openings, gate_queue
from plate_cameras.gates.gate_thread import GateThread
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.pass_store import PassStore
from tests.plate_cameras.gates.known_vehicles import ScriptedRelay, make_gate, make_pass_event
from tests.plate_cameras.streams import wait

CONFIGURATION = Configuration((Camera("gate", "rtsp://gate"),), gates=(make_gate(open_s=0.1),))


async def start(store: PassStore, records: list[GateOpening]) -> GateThread:
    gates = GateThread(store, records.append)
    await gates.commit(await gates.prepare(CONFIGURATION))
    return gates


def show(gates: GateThread, pass_id: str) -> None:
    gates.offer(make_pass_event(id=pass_id, last_moment_s=steady_s()))


async def test_two_watchers_open_a_gate_once_for_a_plate(
    store: PassStore, relay: ScriptedRelay
) -> None:
    records: list[GateOpening] = []
    both = [await start(store, records), await start(store, records)]
    for number, gates in enumerate(both):
        show(gates, f"p{number}")
    await wait(lambda: len(records) == 2, "two records")
    for gates in both:
        await gates.stop()
    assert sorted(opening.outcome for opening in records) == ["opened", "refused"]
    assert relay.calls == ["on"]


async def test_a_watcher_that_follows_a_killed_one_does_not_ask_again(
    store: PassStore, relay: ScriptedRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_queue, "ATTEMPT_S", 0.5)
    relay.script = [None]  # it has the request, and answers late
    killed = await start(store, [])
    show(killed, "p1")
    await wait(lambda: relay.calls, "the request")
    records: list[GateOpening] = []
    gates = await start(store, records)
    show(gates, "p2")
    await wait(lambda: records, "a record")
    await gates.stop()
    assert [opening.outcome for opening in records] == ["refused"]
    assert relay.calls == ["on"]
    await killed.stop()


def _fail() -> None:
    raise StoreUnavailable("the database is away")


@pytest.mark.parametrize("manner", ["silent", "away"])
async def test_a_store_that_does_not_answer_keeps_no_gate_shut(
    store: PassStore, relay: ScriptedRelay, monkeypatch: pytest.MonkeyPatch, manner: str
) -> None:
    leave = threading.Event()
    ways: dict[str, Callable[[], object]] = {"silent": lambda: leave.wait(30), "away": _fail}
    monkeypatch.setattr(begun_openings, "STORE_S", 0.05)
    monkeypatch.setattr(begun_openings, "MAX_CALLS", 1)
    monkeypatch.setattr(store.openings, "begin", lambda *_: ways[manner]())
    records: list[GateOpening] = []
    gates = await start(store, records)
    show(gates, "p1")
    await wait(lambda: records, "an opening")
    show(gates, "p2")
    leave.set()
    await gates.stop()
    assert records[0].outcome == "opened"
    assert relay.calls == ["on"]
