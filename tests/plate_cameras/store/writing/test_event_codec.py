"""Events as files of the spool."""

from dataclasses import replace

import pytest

from plate_cameras.passes import LeaseClaim
from plate_cameras.store.errors import RejectedValue
from plate_cameras.store.writing.addressed_events import AddressedEvent, decode, encode
from tests.plate_cameras.store.stored_events import NOW_S, make_event

EVENT = AddressedEvent(make_event("a"), ("webhook", "file"), NOW_S)
BEST = replace(EVENT.event.passed.best, crop_jpeg=b"", frame_jpeg=b"\n\n\x00")


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(EVENT, id="usual"),
        pytest.param(
            replace(EVENT, event=replace(EVENT.event, claim=LeaseClaim(3, True))), id="shared"
        ),
        pytest.param(
            replace(EVENT, event=make_event("a", observations=(), crossings=(), best=BEST)),
            id="empty parts and bytes like line ends",
        ),
    ],
)
def test_an_event_returns_as_it_was(event: AddressedEvent) -> None:
    assert decode(encode(event)) == event


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(encode(EVENT)[:-1], id="a byte is missing"),
        pytest.param(encode(EVENT)[:100], id="cut in its first line"),
        pytest.param(b"[]\n", id="another document"),
        pytest.param(encode(EVENT).replace(b'"closed"', b'"opened"', 1), id="another kind"),
    ],
)
def test_a_damaged_file_is_told(content: bytes) -> None:
    with pytest.raises(RejectedValue, match="damaged"):
        decode(content)
