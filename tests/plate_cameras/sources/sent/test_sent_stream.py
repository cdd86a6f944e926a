"""The frames of a camera that sends by itself, from a place that is away now and then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.errors import ServerError
from plate_cameras.configuration import Camera
from plate_cameras.frames import Upload
from plate_cameras.sources.sent import sent_stream
from plate_cameras.sources.sent.sent_stream import SentPicture, SentStream
from tests.plate_cameras.sources.sent.vendor_messages import picture


class ScriptedPictures:
    """A place of pictures that is away at first, and notes what the stream tells meanwhile."""

    problem = ""

    def __init__(self, failures: int) -> None:
        self._failures = failures
        self.stream = SentStream(Camera("gate", "folder:/srv/ftp"), self)
        self.states: list[tuple[str, str]] = []

    async def take(self) -> Sequence[SentPicture]:
        self.states.append((self.stream.status.state, self.stream.status.last_error))
        self._failures -= 1
        if self._failures >= 0:
            raise ServerError("cannot read the folder: No such file or directory")
        return [SentPicture(picture(), 1e9, "wall", Upload(b"", _ignore, _ignore))]


async def _ignore() -> None: ...


async def test_a_place_that_is_away_is_told_once_and_asked_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sent_stream, "POLL_S", 0.0)
    pictures = ScriptedPictures(failures=3)
    assert await pictures.stream.wait_for_frame()
    reason = "cannot read the folder: No such file or directory"
    assert pictures.states == [("playing", ""), *[("waiting", reason)] * 3]
    assert (pictures.stream.status.state, pictures.stream.status.last_error) == ("playing", "")
    assert caplog.messages == [f"gate: no pictures are read: {reason}"]
    assert await pictures.stream.next()
