import pytest

from plate_cameras.configuration import Camera, Schedule, Zone
from plate_cameras.sources.messages import (
    HEAD,
    KINDS,
    Close,
    Configure,
    Ended,
    Message,
    Nothing,
    Open,
    Picture,
    Ready,
    Report,
    Want,
    pack,
    unpack,
)
from plate_cameras.sources.status import Limits

ZONE = Zone("gate", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)))
CAMERA = Camera(
    "Einfahrt Süd", "rtsp://u:p@cam/1", masks=(ZONE,), schedule=Schedule(("mon",), "08:00", "18:00")
)
MESSAGES = [
    Open(1, CAMERA, Limits(read_s=3), number=7, after_s=1.5, pause_s=2.0),
    Configure(1, CAMERA), Close(1), Want(2), Ready(3), Nothing(4), Ended(5, "it failed"),
    Picture(6, 10, 1.5, "file", (320, 180), b"\xff\xd8 a picture"),
    Report(7, "playing", 0.1, number=9, decoded=8, dropped=7, reconnects=6, last_error="no"),
]  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_arrives_as_it_was_sent(message: Message) -> None:
    content = pack(message)
    text_bytes, jpeg_bytes = HEAD.unpack_from(content)
    body = content[HEAD.size :]
    assert len(body) == text_bytes + jpeg_bytes
    assert unpack(body[:text_bytes], body[text_bytes:]) == message


def test_every_kind_of_message_is_tested() -> None:
    assert {type(message) for message in MESSAGES} == {*KINDS.values()}
