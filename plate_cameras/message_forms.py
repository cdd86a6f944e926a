"""Cameras that send by themselves: where their messages have the plate, and where they arrive.

A form is data: paths into a message. Names of a path are joined by dots, and other paths that count
if one leads nowhere follow after `|`. Indexes of lists are names, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import show
from plate_cameras.setting_parts import check_sizes

PUSH, FOLDER = "push:", "folder:"
"""Beginnings of `url`: the camera sends messages, or pictures come into a folder."""
DELETE, MOVE = AFTERWARDS = ("delete", "move")
"""The choices of `read_files`: a picture of a folder is deleted or moved after it was read."""


@dataclass(frozen=True)
class MessageForm:
    """The places of values in a camera's messages.

    Attributes:
        plate: Path of the camera's own reading; empty for none.
        score: Path of its score, from 0 to 1 or from 0 to 100.
        time: Path of the time: RFC 3339, a local time, or seconds, milliseconds or microseconds
            since 1970.
        picture: Path of the picture in base64, or name of a form's part; empty for the largest.
        only: `path=value` of the messages that tell of a vehicle; empty for all.
    """

    plate: str = ""
    score: str = ""
    time: str = ""
    picture: str = ""
    only: str = ""

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.only and not all(self.only.partition("=")):
            raise SettingsError(f"message: only: wanted path=value, got {show(self.only)}")


OTHER = "other"
"""Name of the form that a camera's own settings give."""
FORMS: Mapping[str, MessageForm] = {
    "hikvision": MessageForm(
        plate="ANPR.licensePlate|ANPR.originalLicensePlate",
        score="ANPR.confidenceLevel",
        time="dateTime",
        only="eventType=ANPR",
    ),
    "dahua": MessageForm(
        plate="Picture.Plate.PlateNumber|Events.0.TrafficCar.PlateNumber"
        "|Events.0.Object.Text|Data.TrafficCar.PlateNumber",
        score="Picture.Plate.Confidence|Events.0.Object.Confidence",
        time="Picture.SnapInfo.AccurateTime|Picture.SnapInfo.SnapTime|Events.0.UTC|Data.UTC",
        picture="Picture.NormalPic.Content|Picture.VehiclePic.Content",
    ),
    "axis": MessageForm(plate="plateASCII|plateUTF8", score="plateConfidence", time="datetime"),
    "milesight": MessageForm(plate="plate", score="confidence", time="time"),
    OTHER: MessageForm(),
}
"""Forms of messages by their vendors, as their documentation describes them."""


def is_sent(url: str) -> bool:
    """Tell whether a camera's pictures are sent to us, so that no stream is opened."""
    return url.startswith((PUSH, FOLDER))


def form_of(url: str, message: MessageForm | None) -> MessageForm:
    """Return the form of a camera's messages."""
    return message or FORMS[url.removeprefix(PUSH)]


def check_sent(url: str, message: MessageForm | None, read_files: str) -> None:
    """Check the settings of a camera that sends by itself.

    Raises:
        SettingsError: The vendor is not known, a folder is not named, or a setting is of no use.
    """
    name = url.removeprefix(PUSH)
    if url.startswith(PUSH) and name not in FORMS:
        names = ", ".join(PUSH + form for form in FORMS)
        raise SettingsError(f"url: wanted one of {names}, got {show(url)}")
    if url == PUSH + OTHER and message is None:
        raise SettingsError(f"message: wanted the paths of {url}, got none")
    if message and not url.startswith(PUSH):
        raise SettingsError(f"message: wanted a url that begins with {PUSH} beside it")
    if url.startswith(FOLDER) and not url.removeprefix(FOLDER).strip():
        raise SettingsError(f"url: wanted {FOLDER} and a path, got no path")
    if read_files not in AFTERWARDS:
        raise SettingsError(f"read_files: wanted {' or '.join(AFTERWARDS)}, got {show(read_files)}")
