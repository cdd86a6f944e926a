"""Simulates a camera, its watchers and a sink, for the state machine of passes."""

from collections.abc import Callable
from dataclasses import replace

import sqlalchemy as sa

from plate_cameras.passes import LeaseClaim, PassEvent
from plate_cameras.store.errors import StoreError
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.store_parts import KeptFrames, StoreParts
from plate_cameras.store.tables.schema import camera_leases, passes
from plate_cameras.store.tables.store_clock import UnixClock
from plate_cameras.store.writing.pass_writer import PassWriter
from plate_cameras.store.writing.pictures import PictureFolder
from plate_cameras.store.writing.spool import Spool
from plate_cameras.store.writing.unclosed_passes import SETTLED_S, UnclosedPasses
from tests.plate_cameras.store.simulated_site import (
    Crash,
    PreparedWriter,
    SimulatedPass,
    SimulatedSite,
    SimulatedVehicle,
    SimulatedWatcher,
    see_again,
)
from tests.plate_cameras.store.stored_events import NOW_S, WEBHOOK, Kind, make_event, read_rows

CAMERA, SINK = "gate", WEBHOOK.name
UNSEEN_S = 20.0
"""Time without a watcher after which one vehicle may have two passes, in seconds."""
DELIVERY_S = 30.0
UNCLOSED_S = SETTLED_S + 1


class PassWorld:
    """The simulation, with clocks that the test moves."""

    def __init__(self, site: SimulatedSite) -> None:
        site.clear()
        self.site, self.folder, self.database = site, site.folder, site.database
        self.steady_s, self.unix_s, self.ahead_s = 1000.0, NOW_S, 0.0
        self.watchers: dict[str, SimulatedWatcher | None] = {}
        self.vehicles: list[SimulatedVehicle] = []
        self.gone: list[SimulatedVehicle] = []
        self.owner = ""
        self.epoch = self.made = self.runs = 0
        self.received: list[tuple[str, str, str]] = []
        with self.database.writing() as connection:
            row = {"camera": CAMERA, "watcher": "", "epoch": 0, "taken_s": 0.0, "expires_s": 0.0}
            connection.execute(sa.insert(camera_leases).values(row))

    def close(self) -> None:
        for name in self.watchers:
            self.end(name)

    # Watchers

    def start(self, machine: str) -> SimulatedWatcher:
        """Start a watcher on a machine, which keeps its spool."""
        self.runs += 1
        database = self.site.of_machines[machine]
        database.set_faults()
        unix, steady = (lambda: self.unix_s), (lambda: self.steady_s)
        writer = PreparedWriter(
            database,
            PictureFolder(self.folder / "pictures"),
            Spool(self.folder / f"spool-{machine}"),
            PassWriter(clock=unix),
            UnixClock(unix),
            monotonic=steady,
        )
        parts = StoreParts(database, writer.pictures, writer, KeptFrames(blur="none"), unix)
        watcher = SimulatedWatcher(f"{machine}-{self.runs}", PassStore(parts, 30.0), database)
        watcher.store.unclosed_passes = UnclosedPasses(database, clock=steady)
        self.watchers[machine] = watcher
        return watcher

    def end(self, machine: str) -> None:
        """Kill a watcher. Its memory is lost; its spool stays."""
        watcher = self.watchers[machine]
        if watcher is None:
            return
        waiting = len(watcher.store.writer.spool)
        for vehicle in self.vehicles:
            vehicle.is_excused |= bool(waiting) and vehicle.number in watcher.open
        watcher.store.close()
        self.watchers[machine] = None

    def run(self, machine: str, act: Callable[[SimulatedWatcher], None]) -> bool:
        """Run an action of a watcher; return whether it still lives."""
        watcher = self.watchers[machine]
        if watcher is None:
            return False
        try:
            act(watcher)
        except Crash:
            self.end(machine)
            return False
        except StoreError:  # the database or the spool is away: the next round tries again
            pass
        return True

    def take(self, machine: str) -> None:
        """Give the camera to a watcher, which sees the present vehicles at once."""

        def act(watcher: SimulatedWatcher) -> None:
            if watcher.database.is_away:
                return
            self.epoch += 1
            with self.database.writing() as connection:
                values = {"watcher": watcher.name, "epoch": self.epoch, "taken_s": self.unix_s}
                connection.execute(sa.update(camera_leases).values(values))
            self.owner = machine
            if watcher.epoch:
                self._drop(watcher)
            watcher.epoch = self.epoch
            for vehicle in self.vehicles:
                self._look(watcher, vehicle)

        self.run(machine, act)

    def notice(self, machine: str) -> None:
        """Let a watcher notice that it has lost the camera; it closes its passes."""
        if machine != self.owner:
            self.run(machine, self._drop)

    def _drop(self, watcher: SimulatedWatcher) -> None:
        for vehicle in self.vehicles:
            vehicle.was_closed |= vehicle.number in watcher.open
        for number in [*watcher.open]:
            self._close(watcher, number)
        watcher.epoch = 0

    # Vehicles

    @property
    def camera_s(self) -> float:
        """The time of a frame, by the camera's clock."""
        return NOW_S - 1000.0 + self.steady_s + self.ahead_s

    def arrive(self) -> None:
        self.made += 1
        self.vehicles.append(SimulatedVehicle(self.made, [f"A{self.made:03}BC77"]))
        self.see()

    def see(self) -> None:
        """Show a frame to all watchers that follow the camera or believe that they do."""
        for machine in self.watchers:
            self.run(machine, self._look_at_all)

    def _look_at_all(self, watcher: SimulatedWatcher) -> None:
        for vehicle in self.vehicles if watcher.epoch else []:
            self._look(watcher, vehicle)

    def _look(self, watcher: SimulatedWatcher, vehicle: SimulatedVehicle) -> None:
        is_certain = watcher.epoch == self.epoch
        open_pass = watcher.open.get(vehicle.number)
        if open_pass:
            event = see_again(open_pass.event, vehicle, self.camera_s)
            watcher.open[vehicle.number] = SimulatedPass(event, open_pass.is_certain and is_certain)
            return
        pass_id = f"v{vehicle.number}-{watcher.name}-{watcher.epoch}"
        event = make_event(
            pass_id, vehicle.texts[-1], "agreed", first_seen_s=self.camera_s, clock="stream"
        )
        watcher.open[vehicle.number] = SimulatedPass(event, is_certain)
        self._write(watcher, vehicle.number, "agreed")

    def change_text(self, vehicle: SimulatedVehicle) -> None:
        """Let the owner read the plate better, and report it."""
        watcher = self.watchers.get(self.owner)
        if watcher is None or watcher.database.is_away or len(watcher.store.writer.spool):
            return

        def act(watcher: SimulatedWatcher) -> None:
            better = f"{vehicle.texts[0][:-1]}{len(vehicle.texts)}"
            better_vehicle = replace(vehicle, texts=[*vehicle.texts, better])
            if open_pass := watcher.open.get(vehicle.number):
                open_pass.event = see_again(open_pass.event, better_vehicle, self.camera_s)
                self._write(watcher, vehicle.number, "updated")
                vehicle.texts = better_vehicle.texts

        self.run(self.owner, act)

    def leave(self, vehicle: SimulatedVehicle) -> None:
        """Let a vehicle leave: all watchers that follow it close its pass."""
        self.vehicles.remove(vehicle)
        self.gone.append(vehicle)
        for machine in self.watchers:
            self.run(machine, lambda watcher: self._close(watcher, vehicle.number))

    def _close(self, watcher: SimulatedWatcher, number: int) -> None:
        if number in watcher.open:
            self._write(watcher, number, "closed")
            del watcher.open[number]

    def _write(self, watcher: SimulatedWatcher, number: int, kind: Kind) -> None:
        open_pass = watcher.open[number]
        progress = "closed" if kind == "closed" else "agreed"
        vehicle_pass = replace(open_pass.event.vehicle_pass, progress=progress)
        claim = LeaseClaim(watcher.epoch, open_pass.is_certain)
        watcher.store.write([PassEvent(kind, vehicle_pass, claim)], [WEBHOOK])

    # Time and upkeep

    def pass_time(self, seconds: float) -> None:
        """Let time pass, in steps of a few frames."""
        while seconds > 0:
            step_s = min(seconds, 5.0)
            seconds -= step_s
            self.steady_s += step_s
            self.unix_s += step_s
            self.see()
            owner = self.watchers.get(self.owner)
            for vehicle in self.vehicles:
                is_seen = owner is not None and vehicle.number in owner.open
                is_seen &= not vehicle.was_closed
                vehicle.unseen_s = 0.0 if is_seen else vehicle.unseen_s + step_s
                vehicle.is_excused |= vehicle.unseen_s > UNSEEN_S

    def replay(self, machine: str) -> None:
        self.run(machine, lambda watcher: watcher.store.replay_spool() and None)

    def close_left(self, machine: str) -> None:
        """Let a watcher close passes that others have left open, after its own writes."""

        def act(watcher: SimulatedWatcher) -> None:
            if not watcher.store.replay_spool():
                events = watcher.store.unclosed_passes.of_former_owners(watcher.name)
                open_ids = {open_pass.event.vehicle_pass.id for open_pass in watcher.open.values()}
                assert not {event.vehicle_pass.id for event in events} & open_ids
                watcher.store.write(events, [WEBHOOK])

        self.run(machine, act)

    def deliver(self, machine: str, outcome: str) -> int:
        """Let a watcher send the due events; return their number."""
        count = 0

        def act(watcher: SimulatedWatcher) -> None:
            nonlocal count
            deliveries = watcher.store.outbox.claim(SINK, 3, self.unix_s, DELIVERY_S)
            count = len(deliveries)
            for delivery in deliveries:
                if outcome == "fails":
                    watcher.store.outbox.postpone(delivery, "away", self.unix_s + 1)
                    continue
                data = delivery.document["data"]
                vehicle = data["id"].partition("-")[0]
                self.received.append((vehicle, data["id"], delivery.document["type"]))
                if outcome == "crashes":
                    raise Crash
                watcher.store.outbox.confirm([delivery], self.unix_s)

        self.run(machine, act)
        return count

    def settle(self) -> None:
        """End all faults and vehicles, and let the watchers finish."""
        for machine, watcher in [*self.watchers.items()]:
            if watcher is None:
                watcher = self.start(machine)
            watcher.database.set_faults()
        self.pass_time(10)
        for machine in self.watchers:
            self.replay(machine)
        self.take(next(iter(self.watchers)))
        for machine in self.watchers:
            self.notice(machine)
        for vehicle in [*self.vehicles]:
            self.leave(vehicle)
        self.close_left(self.owner)
        self.pass_time(UNCLOSED_S)
        for machine in self.watchers:
            self.replay(machine)
        self.close_left(self.owner)
        self.unix_s = max(self.unix_s, NOW_S) + 1e5
        while self.deliver(self.owner, "succeeds"):
            pass

    def read_passes(self) -> dict[str, set[tuple[str, str]]]:
        """Return ids and progress of the stored passes, by vehicle."""
        passes_of_vehicles: dict[str, set[tuple[str, str]]] = {}
        for id_, progress in read_rows(self.database, passes.c.id, passes.c.progress):
            passes_of_vehicles.setdefault(id_.partition("-")[0], set()).add((id_, progress))
        return passes_of_vehicles

    def list_events(self, vehicle: str) -> dict[str, list[str]]:
        """Return the kinds of events that the sink got, without repetitions, by id of the pass."""
        kinds: dict[str, list[str]] = {}
        for of, pass_id, kind in self.received:
            if of == vehicle and (kind == "pass.updated" or kind not in kinds.get(pass_id, [])):
                kinds.setdefault(pass_id, []).append(kind)
        return kinds
