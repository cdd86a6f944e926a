"""A world for `plates watch`: cameras, service, database, broker, webhook, file and relay."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.serving.supervisor.ports import free_ports
from plate_cameras.configuration import read_configuration
from plate_cameras.store.factory import open_store
from plate_cameras.store.pass_store import PassStore
from workshop.benchmarks.camera_faults import gstreamer
from workshop.benchmarks.camera_faults.programs import (
    HostileServer,
    Program,
    Subscriber,
    make_broker,
    small_disk,
)
from workshop.benchmarks.camera_faults.timetable import Sight, Street
from workshop.benchmarks.camera_faults.watching import WatchCommand
from workshop.benchmarks.faults import settings as fault_settings
from workshop.benchmarks.faults.settings import CannotBeMadeError
from workshop.benchmarks.postgresql_server import MISSING, PostgresqlServer, find_programs

CAMERAS = 2
LOOKS_PER_S = 4.0
VEHICLES = 400
"""Vehicles of each camera that are known; every second one may pass the gate."""
LIST, SINKS = "residents", ("erp", "home", "log")
SPOOL, PICTURES, STORE, DATABASE, EVENTS = "spool", "pictures", "store", "database", "events"
DISK_SIZES = {SPOOL: "2m", PICTURES: "2m", STORE: "8m", DATABASE: "256m", EVENTS: "1m"}
"""Sizes of small disks."""
WATCH, POSTGRESQL, CAMERA = "watch", "postgresql", "camera"
"""Parts that may have a wall clock of their own."""


MIGRATING = threading.Lock()
"""Alembic migrates one database of a process at a time."""


@dataclass(frozen=True)
class Setting:
    """The form of a world.

    Attributes:
        small_disks: Folders that are small disks of their own.
        clock_of: The part whose wall clock can be set; empty for none.
        output: The file for the standard output of the watch.
    """

    is_sqlite: bool = False
    small_disks: tuple[str, ...] = ()
    clock_of: str = ""
    output: str = ""
    watchers: int = 1
    open_s: float = 0.0


USUAL = Setting()


@dataclass
class World:
    """All parts.

    Attributes:
        street: The truth, by the monotonic clock.
        unlisted_s: Time from which the list is empty.
        failures: Broken promises that a fault itself has found.
    """

    folder: Path
    setting: Setting
    street: Street
    url: str
    postgresql: PostgresqlServer | None
    cameras: Program
    service: Program
    broker: Program
    webhook: HostileServer
    relay: HostileServer
    subscriber: Subscriber
    clock: Path | None = None
    watchers: list[WatchCommand] = field(default_factory=list)
    unlisted_s: float | None = None
    failures: list[str] = field(default_factory=list)

    @property
    def watch(self) -> WatchCommand:
        """The first watcher."""
        return self.watchers[0]

    @property
    def file(self) -> Path:
        """The file of cameras."""
        return self.folder / "CAMERAS.toml"

    @property
    def looks(self) -> Path:
        """File with a line for each frame that the service has answered."""
        return self.folder / "looks"

    def open_store(self) -> PassStore:
        """Open the store beside the watch."""
        return open_store(read_configuration(self.file).store, self.folder, is_shared=True)

    def set_clock(self, seconds: int) -> None:
        """Set a wall clock ahead."""
        assert self.clock
        fault_settings.set_offset(self.clock, seconds)


@contextmanager
def run_world(setting: Setting) -> Iterator[World]:
    """Run a world, watchers included, until the end of the block.

    Raises:
        CannotBeMadeError: This machine has not what it needs.
    """
    if not gstreamer.is_installed():
        raise CannotBeMadeError(gstreamer.MISSING)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="camera-faults-")))
        folder.chmod(0o755)  # PostgreSQL runs as another user
        for name in setting.small_disks:
            if name != DATABASE:
                stack.enter_context(small_disk(folder / name, DISK_SIZES[name]))
        clock, variables = _make_clock(setting, stack)
        world = _make_world(setting, folder, variables, stack)
        world.clock = clock
        _configure(world)
        for program in (world.cameras, world.service, world.broker, world.webhook, world.relay):
            stack.callback(program.kill)
            program.start()
        stack.enter_context(world.subscriber.run())
        _write_list(world)
        for command in _make_commands(world, variables):
            world.watchers.append(command)
            stack.callback(command.kill)
            stack.enter_context(command.poll_metrics())
            command.start()
        yield world


def _make_clock(setting: Setting, stack: ExitStack) -> tuple[Path | None, dict[str, str]]:
    if not setting.clock_of:
        return None, {}
    variables = dict(stack.enter_context(fault_settings.clock()).variables)
    clock = Path(variables[fault_settings.OFFSET_FILE])
    clock.parent.chmod(0o755)
    return clock, variables


def _make_world(
    setting: Setting, folder: Path, variables: dict[str, str], stack: ExitStack
) -> World:
    rtsp, service, mqtt, webhook, relay, database = free_ports(6)
    street = Street(CAMERAS, time.monotonic())
    postgresql = None
    if not setting.is_sqlite:
        environ = variables if setting.clock_of == POSTGRESQL else {}
        postgresql = _start_postgresql(setting, database, environ, stack)
        postgresql.create_database("plates")
    url = f"postgresql+psycopg://plates@127.0.0.1:{database}/plates"
    modules = "workshop.benchmarks.camera_faults."
    camera = (gstreamer.SYSTEM_PYTHON, "-m", modules + "rtsp_street", str(rtsp), str(CAMERAS))
    stand_in = (sys.executable, "-m", modules + "recognition", str(service), str(folder / "looks"))
    return World(
        folder,
        setting,
        street,
        f"sqlite:///{folder}/{STORE}/passes.db" if setting.is_sqlite else url,
        postgresql,
        Program(
            (*camera, str(street.started_s)),
            rtsp,
            folder / "cameras.log",
            variables if setting.clock_of == CAMERA else {},
        ),
        Program(stand_in, service, folder / "service.log"),
        make_broker(folder, mqtt),
        HostileServer(webhook, folder / "webhook.log"),
        HostileServer(relay, folder / "relay.log"),
        Subscriber(mqtt),
    )


def _start_postgresql(
    setting: Setting, port: int, environ: dict[str, str], stack: ExitStack
) -> PostgresqlServer:
    programs = find_programs()
    if programs is None:
        raise CannotBeMadeError(MISSING)
    options = ("listen_addresses=127.0.0.1", "max_connections=30")
    server = PostgresqlServer(programs, options, port=port, environ=environ)
    stack.callback(server.remove)
    if DATABASE in setting.small_disks:
        stack.enter_context(small_disk(server.folder, DISK_SIZES[DATABASE]))
        stack.callback(server.kill)
    server.create()
    server.start()
    return server


def _configure(world: World) -> None:
    """Write the file of cameras."""
    (world.folder / STORE).mkdir(exist_ok=True)
    world.file.write_text(describe_cameras(world), encoding="utf-8")


def describe_cameras(world: World) -> str:
    """Return the text of the file of cameras."""
    cameras = [f"camera{number}" for number in range(CAMERAS)]
    lines = [
        "[store]",
        f'url = "{world.url}"',
        f'pictures = "{world.folder}/{PICTURES}"',
        f'spool = "{world.folder}/{SPOOL}"',
        "[[sinks]]",
        'name = "erp"',
        'type = "webhook"',
        "private_addresses = true",
        f'url = "http://127.0.0.1:{world.webhook.port}/"',
        "[[sinks]]",
        'name = "home"',
        'type = "mqtt"',
        f'url = "mqtt://127.0.0.1:{world.broker.port}"',
        "[[sinks]]",
        'name = "log"',
        'type = "jsonl"',
        f'url = "{world.folder}/{EVENTS}/passes.jsonl"',
        "[[gates]]",
        'name = "barrier"',
        'type = "http"',
        f'lists = ["{LIST}"]',
        f'url = "http://127.0.0.1:{world.relay.port}/"',
        f"open_s = {world.setting.open_s}",
        f"cameras = {cameras}".replace("'", '"'),
        """options = { body = '{"plate": "$text"}' }""",
    ]
    for number, name in enumerate(cameras):
        lines += ["[[cameras]]", f'name = "{name}"', f"looks_per_s = {LOOKS_PER_S}"]
        lines += [f'url = "rtsp://127.0.0.1:{world.cameras.port}/{number}"']
        lines += ["motion_threshold = 0", f'lists = ["{LIST}"]']
    return "\n".join([*lines, ""])


def list_texts() -> list[str]:
    """Return the texts for which the gate may open."""
    return [
        Sight(camera, vehicle, 0).text
        for camera in range(CAMERAS)
        for vehicle in range(0, VEHICLES, 2)
    ]


def _write_list(world: World) -> None:
    with MIGRATING, closing(world.open_store()) as store:
        store.lists.create(LIST)
        store.lists.import_csv(LIST, "\n".join(["text", *list_texts()]), accepts_doubtful=True)


def _make_commands(world: World, variables: dict[str, str]) -> Iterator[WatchCommand]:
    """Yield the watchers. Each has a file of its own: the port of its metrics stands in it."""
    setting = world.setting
    ports = free_ports(setting.watchers)
    text = world.file.read_text(encoding="utf-8")
    for number, port in enumerate(ports):
        file = world.folder / f"CAMERAS{number or ''}.toml"
        file.write_text(f"metrics_port = {port}\n{text}", encoding="utf-8")
        yield WatchCommand(
            file,
            (
                "--url",
                f"http://127.0.0.1:{world.service.port}",
                *(("--share",) if setting.watchers > 1 else ()),
            ),
            port,
            Path(setting.output or world.folder / f"watch{number}.out"),
            world.folder / f"watch{number}.err",
            variables if setting.clock_of == WATCH else {},
        )
