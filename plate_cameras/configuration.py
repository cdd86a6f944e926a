"""The configuration of the cameras: CAMERAS.toml as frozen dataclasses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.host.network_addresses import check_address
from orchestrator.host.toml_files import WrongValue, check_range, read_table, show, show_name
from plate_cameras import setting_parts as sizes
from plate_cameras.areas import Line as Line
from plate_cameras.areas import Zone as Zone
from plate_cameras.camera_urls import check_url, encode_login
from plate_cameras.message_forms import FOLDER, MOVE, MessageForm, check_sent, is_sent
from plate_cameras.setting_parts import Gate as Gate
from plate_cameras.setting_parts import Schedule as Schedule
from plate_cameras.setting_parts import Site as Site
from plate_cameras.setting_parts import at_most, check_name, check_sizes
from plate_cameras.sink_settings import Sink as Sink

RETENTION_DAYS = 30
"""Days for which passes are kept by default."""
SURROUNDINGS, PLATES, NONE = BLURS = ("surroundings", "plates", "none")
"""The choices of `blur`; see `Store`."""
AUDIT_DAYS = 365
"""Days for which the audit of searches is kept by default: misuse often shows months later."""


@dataclass(frozen=True)
class Camera:
    """One camera.

    Attributes:
        name: Unique name of the camera.
        url: `rtsp://`, `rtsps://`, `http://` or `https://` address, a device such as `/dev/video0`,
            a file, `push:` and the vendor of a camera that sends, or `folder:` and a path.
        looks_per_s: Most frames a second that are sent to the service.
        text_threshold: Least score of a pass's text that is shown, in [0, 1].
        agreement_threshold: Least score at which a pass counts as agreed.
        motion_threshold: Least share of the frame that must change before frames are sent; 0 sends
            frames always.
        zones: Parts of the frame to report.
        only_in_zones: True if plates outside all zones are ignored.
        masks: Parts of the frame that are ignored.
        lines: Lines whose crossings are reported.
        schedule: Hours in which the camera is watched.
        lists: Names of the plate lists that are looked up for this camera.
        retention_days: Days after which its passes are deleted; None for the store's.
        group: Name of the group of cameras that it belongs to; roles can be limited to groups.
        verify_tls: True if the certificate of `rtsps://` and `https://` is verified.
        tls_ca_file: PEM file of the certificates to trust, which may be the camera's own; None for
            the system's.
        message: Places of values in the messages of a camera that sends; None for its vendor's.
        read_files: `move` or `delete`: what becomes of pictures of a folder that were read.
        view_angle_deg: Horizontal angle of view, for the speed of vehicles; None if not known.
    """

    name: str
    url: str = field(repr=False)
    looks_per_s: float = 4.0
    text_threshold: float = 0.6
    agreement_threshold: float = 0.9
    motion_threshold: float = 0.002
    zones: tuple[Zone, ...] = field(default=(), metadata=at_most(sizes.MAX_AREAS))
    only_in_zones: bool = False
    masks: tuple[Zone, ...] = field(default=(), metadata=at_most(sizes.MAX_AREAS))
    lines: tuple[Line, ...] = field(default=(), metadata=at_most(sizes.MAX_AREAS))
    schedule: Schedule = field(default_factory=Schedule)
    lists: tuple[str, ...] = ()
    retention_days: float | None = None
    group: str = ""
    verify_tls: bool = True
    tls_ca_file: Path | None = None
    message: MessageForm | None = None
    read_files: str = MOVE
    view_angle_deg: float | None = None

    def __post_init__(self) -> None:
        check_sizes(self)
        check_sent(self.url, self.message, self.read_files)
        if self.tls_ca_file and not self.verify_tls:
            raise SettingsError("tls_ca_file: wanted verify_tls = true beside it, got false")
        check_name(self.name)
        check_url(self.url)
        check_address("url", encode_login(self.url))
        check_range("looks_per_s", self.looks_per_s, 0.1, 60)
        for name in ("text_threshold", "agreement_threshold", "motion_threshold"):
            check_range(name, getattr(self, name), 0, 1)
        if self.retention_days is not None:
            check_range("retention_days", self.retention_days, 0, 36500)
        if self.view_angle_deg is not None:
            check_range("view_angle_deg", self.view_angle_deg, 1, 150)
        check_unique("zone", [zone.name for zone in self.zones])
        check_unique("line", [line.name for line in self.lines])

    @property
    def is_live(self) -> bool:
        """False if it is a file, which has an end."""
        scheme, separator, _ = self.url.partition("://")
        is_stream = bool(separator) and scheme.lower() != "file"
        return is_stream or self.url.startswith("/dev/") or is_sent(self.url)


@dataclass(frozen=True)
class Store:
    """The place where passes are kept.

    Attributes:
        url: Address of the database in SQLAlchemy's form; None for a file `passes.db` beside the
            configuration.
        pictures: Folder of the pictures or `s3://` address; None for `pictures` beside the
            configuration.
        spool: Folder for passes that the database cannot take now; None for `spool` beside the
            configuration.
        retention_days: Days after which passes are deleted.
        audit_days: Days after which the records of searches and exports are deleted.
        keep_vehicles: True if a small picture of the vehicle is kept beside the plate's crop.
        keep_frames: True if the whole frame is kept in its place.
        blur: The choice of what is made unrecognisable in kept frames and stills: `surroundings`
            (all but the vehicle's front, and other plates), `plates` (other plates), or `none`.
    """

    url: str | None = None
    pictures: str | None = None
    spool: Path | None = None
    retention_days: float = RETENTION_DAYS
    audit_days: float = AUDIT_DAYS
    keep_vehicles: bool = True
    keep_frames: bool = False
    blur: str = SURROUNDINGS

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.blur not in BLURS:
            raise SettingsError(f"blur: wanted one of {', '.join(BLURS)}, got {show(self.blur)}")
        check_range("retention_days", self.retention_days, 0, 36500)
        check_range("audit_days", self.audit_days, 0, 36500)


@dataclass(frozen=True)
class ControlRoomSettings:
    """Settings of the control room, see `plate_cameras.control_room`.

    Attributes:
        reasons_required: True if every search and export must name its reason.
        session_hours: Hours after which people must log in again.
    """

    reasons_required: bool = False
    session_hours: float = 12.0

    def __post_init__(self) -> None:
        check_sizes(self)
        check_range("session_hours", self.session_hours, 0.1, 24 * 365)


@dataclass(frozen=True)
class Configuration:
    """The content of CAMERAS.toml.

    Attributes:
        service: Address of the service, as for `PlateClient`; None starts one of its own.
        store: The place where passes are kept.
        cameras: The cameras.
        sinks: The receivers of events.
        gates: Barriers and doors that open for plates of lists.
        sites: Yards and car parks, to see who is inside.
        control_room: Settings of the control room.
        cameras_per_watcher: Most cameras that one of several watchers takes; 0 for no limit.
        metrics_port: Port of the Prometheus metrics; 0 for none.
        metrics_host: Address on which the metrics are served.
        metrics_key: Key that the metrics want; `env:NAME` takes an environment variable.
    """

    cameras: tuple[Camera, ...] = field(metadata=at_most(sizes.MAX_CAMERAS))
    service: str | None = None
    store: Store = field(default_factory=Store)
    sinks: tuple[Sink, ...] = field(default=(), metadata=at_most(sizes.MAX_SINKS))
    gates: tuple[Gate, ...] = field(default=(), metadata=at_most(sizes.MAX_GATES))
    sites: tuple[Site, ...] = field(default=(), metadata=at_most(sizes.MAX_SITES))
    control_room: ControlRoomSettings = field(default_factory=ControlRoomSettings)
    cameras_per_watcher: int = 0
    metrics_port: int = 0
    metrics_host: str = "127.0.0.1"
    metrics_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        check_sizes(self)
        if not self.cameras:
            raise SettingsError("cameras: wanted at least one, got none")
        check_unique("camera", [camera.name for camera in self.cameras])
        check_range("cameras_per_watcher", self.cameras_per_watcher, 0, 10_000)
        check_range("metrics_port", self.metrics_port, 0, 65535)
        names = {camera.name for camera in self.cameras}
        users: dict[str, Sequence[Sink | Gate | Site]] = {}
        users |= {"sink": self.sinks, "gate": self.gates, "site": self.sites}
        for kind, parts in users.items():
            check_unique(kind, [part.name for part in parts])
            for index, part in enumerate(parts):
                if unknown_names := sorted(set(part.cameras) - names):
                    message = f"{kind} {part.name}: there is no camera {show(unknown_names[0])}"
                    raise WrongValue(message, (f"{kind}s", index, "cameras"))
        self._check_lists()
        self._check_lines()
        self._check_folders()

    def _check_folders(self) -> None:
        """Reject a folder inside of another camera's, which would read its pictures, too."""
        folders = sorted(
            (_parts_of(camera.url), index)
            for index, camera in enumerate(self.cameras)
            if camera.url.startswith(FOLDER)
        )
        # A folder is sorted directly before those inside of it.
        for (outer, outer_index), (inner, index) in pairwise(folders):
            if inner[: len(outer)] == outer:
                name, outer_name = self.cameras[index].name, self.cameras[outer_index].name
                limit = f"a folder of its own, got one inside that of {outer_name}"
                message = f"camera {name}: wanted {limit}"
                raise WrongValue(message, ("cameras", index, "url"))

    def _check_lines(self) -> None:
        """Reject a gate with lines whose cameras send single pictures, which cross no line."""
        sending_names = {camera.name for camera in self.cameras if is_sent(camera.url)}
        for index, gate in enumerate(self.gates):
            if gate.lines and (names := sorted(sending_names & {*gate.cameras})):
                limit = f"cameras with streams, got {names[0]}, which sends single pictures"
                raise WrongValue(
                    f"gate {gate.name}: lines: wanted {limit}", ("gates", index, "lines")
                )

    def _check_lists(self) -> None:
        """Reject a sink with a list that none of its cameras looks up."""
        for index, sink in enumerate(self.sinks):
            cameras = [
                camera for camera in self.cameras if not sink.cameras or camera.name in sink.cameras
            ]
            lists = {name for camera in cameras for name in camera.lists}
            if unknown_lists := sorted({*sink.lists} - lists):
                of_cameras = f"wanted lists of its cameras ({', '.join(sorted(lists)) or 'none'})"
                message = f"sink {sink.name}: lists: {of_cameras}, got {show(unknown_lists[0])}"
                raise WrongValue(message, ("sinks", index, "lists"))


def read_configuration(file: Path) -> Configuration:
    """Read CAMERAS.toml.

    Raises:
        SettingsError: The file cannot be read, or a value is missing, unknown or out of range. The
            message names the value and its line.
    """
    return read_table(Configuration, file)


def check_unique(kind: str, names: Sequence[str]) -> None:
    """Check that no two parts of a kind have the same name.

    Raises:
        WrongValue: Two have.
    """
    for index, name in enumerate(names):
        if name in names[:index]:
            message = f"{kind} {show_name(name)}: wanted one of this name, got several"
            raise WrongValue(message, (f"{kind}s", index, "name"))


def _parts_of(url: str) -> tuple[str, ...]:
    """Return the parts of a folder's path. This reads no disk, which may hang."""
    return Path(os.path.abspath(url.removeprefix(FOLDER))).parts  # noqa: PTH100
