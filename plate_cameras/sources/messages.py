"""The protocol between the process of the watcher and a child process that decodes.

Each holds one end of a stream socket. A message has three parts: its head, two unsigned 32-bit
numbers in network byte order; a JSON object of as many bytes as the first number says; and a JPEG
picture of as many bytes as the second says, in `frame` only. The object's key `kind` is one of
`KINDS`; its other keys are the fields of that class.

The parent sends `open` and `close` for each camera, and `configure` when its zones or masks change
while it plays. The child sends `ready` once when a frame is there. The parent sends `want` when it
has use for a frame. The child answers each `want` with the newest `frame`, or with `nothing`; so at
most one frame of a camera is on its way. Twice a second the child sends a `report` of each camera,
which is its heartbeat, too. `ended` follows a file's last frame. A child ends when its socket is
closed.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass, field

from orchestrator.errors import ServerError, SettingsError
from orchestrator.host.toml_files import build
from plate_cameras.configuration import Camera
from plate_cameras.sources.status import Limits

HEAD = struct.Struct("!II")
MAX_TEXT_BYTES, MAX_JPEG_BYTES = 1 << 20, 64 << 20
"""Largest parts of a child's message. A child that announces more is faulty."""


@dataclass(frozen=True)
class Message:
    """Base of all messages.

    Attributes:
        id: Number of the camera.
    """

    id: int


@dataclass(frozen=True)
class Open(Message):
    """Begin to play a camera.

    Attributes:
        number: Frames that earlier processes have had of it.
        after_s: Time of the last frame of a file that was handed on; None from its start.
        pause_s: Pause before the camera is opened.
    """

    camera: Camera
    limits: Limits
    number: int = 0
    after_s: float | None = None
    pause_s: float = 0.0


@dataclass(frozen=True)
class Configure(Message):
    """Take over other zones and masks while the camera plays."""

    camera: Camera


@dataclass(frozen=True)
class Close(Message):
    """Stop playing a camera."""


@dataclass(frozen=True)
class Want(Message):
    """Send the newest frame."""


@dataclass(frozen=True)
class Ready(Message):
    """A frame is there."""


@dataclass(frozen=True)
class Nothing(Message):
    """There is no frame for the last `want`."""


@dataclass(frozen=True)
class Ended(Message):
    """A file has ended. `error` is a sentence if it could not be played."""

    error: str = ""


@dataclass(frozen=True)
class Picture(Message):
    """A frame. See `plate_cameras.frames`."""

    number: int
    time_s: float
    clock: str
    size_wh: tuple[int, ...]
    jpeg: bytes = field(default=b"", repr=False)
    steady_s: float | None = None


@dataclass(frozen=True)
class Report(Message):
    """The state of a camera in the child. See `SourceStatus`.

    Attributes:
        silent_s: Age of the thread's heartbeat.
    """

    state: str
    silent_s: float
    number: int = 0
    decoded: int = 0
    dropped: int = 0
    reconnects: int = 0
    last_error: str = ""
    motion: bool = False


KINDS: dict[str, type[Message]] = {
    "open": Open,
    "configure": Configure,
    "close": Close,
    "want": Want,
    "ready": Ready,
    "frame": Picture,
    "nothing": Nothing,
    "ended": Ended,
    "report": Report,
}
NAMES = {kind: name for name, kind in KINDS.items()}


def pack(message: Message) -> bytes:
    """Return the bytes of a message."""
    fields = asdict(message)
    jpeg = fields.pop("jpeg", b"")
    text = json.dumps({"kind": NAMES[type(message)], **fields}, default=str).encode()
    return b"".join((HEAD.pack(len(text), len(jpeg)), text, jpeg))


def unpack_head(head: bytes) -> tuple[int, int]:
    """Return the sizes of a message's text and picture, as a child announces them.

    Raises:
        ServerError: They are too great.
    """
    text_bytes, jpeg_bytes = HEAD.unpack(head)
    if text_bytes > MAX_TEXT_BYTES or jpeg_bytes > MAX_JPEG_BYTES:
        raise ServerError(
            f"message of a decoder: wanted at most {MAX_TEXT_BYTES} and {MAX_JPEG_BYTES} bytes,"
            f" got {text_bytes} and {jpeg_bytes}"
        )
    return text_bytes, jpeg_bytes


def unpack(text: bytes, jpeg: bytes) -> Message:
    """Return the message of a JSON object and a picture.

    Raises:
        ServerError: It is no message of this version.
    """
    try:
        return _unpack(text, jpeg)
    except (
        SettingsError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise ServerError(f"message of a decoder: {type(error).__name__} in it") from error


def _unpack(text: bytes, jpeg: bytes) -> Message:
    fields = json.loads(text)
    kind = KINDS[fields.pop("kind")]
    if kind is Picture:
        fields |= {"jpeg": jpeg, "size_wh": tuple(fields["size_wh"])}
    if kind in (Open, Configure):
        fields["camera"] = build(Camera, fields["camera"])
    if kind is Open:
        fields["limits"] = Limits(**fields["limits"])
    return kind(**fields)
