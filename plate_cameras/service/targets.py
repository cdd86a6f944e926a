"""The cameras that a command line names, and the parts and choices of one run of plates watch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.client.aio import AsyncPlateClient
from orchestrator.errors import SettingsError
from orchestrator.host.disk_files import Stamp, stamp_of
from orchestrator.host.network_addresses import check_address
from plate_cameras.camera_urls import encode_login, host_of
from plate_cameras.configuration import Camera, Configuration, read_configuration
from plate_cameras.message_forms import PUSH, is_sent
from plate_cameras.secret_settings import warn_of_readers
from plate_cameras.service.ending import Ending
from plate_cameras.service.pass_table import PassTable
from plate_cameras.store.pass_store import PassStore

CLIP_LOOKS_PER_S = 10.0
"""Number of frames that are sent for each second of a clip."""
TOML = ".toml"


@dataclass(frozen=True)
class Target:
    """The cameras to watch.

    Attributes:
        file: The file of the configuration; None if the cameras stand on the command line.
        stamp: The stamp of the file that was read.
    """

    configuration: Configuration
    file: Path | None = None
    stamp: Stamp | None = None


def read_target(
    sources: Sequence[str], *, is_once: bool, looks_per_s: float | None = None
) -> Target:
    """Return the cameras for the arguments of a command line.

    Args:
        sources: One file CAMERAS.toml, or any number of streams, devices and clips.
        is_once: The sources are clips, which end.
        looks_per_s: Frames a second to send; None for the usual number.

    Raises:
        SettingsError: A file is missing or wrong, or a source is not of this kind.
    """
    files = [source for source in sources if source.lower().endswith(TOML)]
    if files and len(sources) > 1:
        raise SettingsError(f"wanted one file of cameras alone, got {len(sources)} sources")
    if files:
        if looks_per_s is not None:
            raise SettingsError("--looks: wanted without a file of cameras, which says it itself")
        file = Path(files[0])
        stamp = stamp_of(file)
        configuration = read_configuration(file)
        warn_of_readers(file, configuration)
        return Target(configuration, file, stamp)
    cameras = [_make_camera(source, is_once=is_once, looks_per_s=looks_per_s) for source in sources]
    return Target(Configuration(_with_own_names(cameras)))


def check_shared(target: Target, *, is_once: bool) -> None:
    """Check that watchers can share the cameras of a target.

    Raises:
        SettingsError: It has no file, or its sources end.
    """
    if target.file is None or is_once:
        raise SettingsError("--share: wanted a file CAMERAS.toml and cameras without an end")


def _make_camera(source: str, *, is_once: bool, looks_per_s: float | None) -> Camera:
    scheme, separator, path = source.partition("://")
    if source.startswith(PUSH):
        raise SettingsError(f"{source}: wanted it in a file CAMERAS.toml, which the gateway reads")
    is_file = (not separator or scheme.lower() == "file") and not source.startswith("/dev/")
    is_clip = is_file and not is_sent(source)
    check_address("SOURCE", encode_login(source))
    if is_clip and not Path(path or source).is_file():
        raise SettingsError(f"{source}: no such file")
    if is_once and not is_clip:
        raise SettingsError(f"--once: wanted clips, got {name_of(source)}, which has no end")
    usual = CLIP_LOOKS_PER_S if is_clip else Camera.looks_per_s
    return Camera(name_of(source), source, looks_per_s=looks_per_s or usual)


def name_of(source: str) -> str:
    """Return a name for a source: a file's name, or a stream's host. Its path may be a secret."""
    scheme, separator, path = source.partition("://")
    if not separator or scheme.lower() == "file":
        return Path(path or source).name
    return host_of(source) or scheme


def _with_own_names(cameras: Sequence[Camera]) -> tuple[Camera, ...]:
    """Number the cameras whose names are the same."""
    totals, counts = Counter(camera.name for camera in cameras), Counter[str]()
    numbered_cameras = []
    for camera in cameras:
        counts[camera.name] += 1
        suffix = f" ({counts[camera.name]})" if totals[camera.name] > 1 else ""
        numbered_cameras.append(replace(camera, name=camera.name + suffix))
    return tuple(numbered_cameras)


@dataclass(frozen=True)
class Watch:
    """The parts and choices of one run.

    Attributes:
        configuration: The cameras and their sinks, gates and sites.
        file: The file of the configuration, which is read again when it changes; None for none.
        table: Turns events into lines.
        store: Keeps the passes; None keeps none.
        is_once: The sources end by themselves.
        is_shared: Other watchers follow some of the cameras; wants a store.
        has_live_table: The state of the cameras is drawn in the terminal.
        stamp: The stamp of the file that was read; None for that of the file as it is at the start.
    """

    configuration: Configuration
    file: Path | None
    client: AsyncPlateClient
    at_once: int
    table: PassTable
    store: PassStore | None = None
    is_once: bool = False
    is_shared: bool = False
    has_live_table: bool = False
    ending: Ending = field(default_factory=Ending)
    stamp: Stamp | None = None
