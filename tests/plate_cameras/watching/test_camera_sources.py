"""The waiting pictures of several cameras, of which some cannot be read."""

from collections.abc import Collection

import pytest

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.watching import camera_sources
from plate_cameras.watching.camera_sources import PushedInbox


class Pictures:
    """Waiting pictures of two cameras.

    Attributes:
        errors: Exceptions by the cameras whose pictures cannot be read; of `""` those of all.
    """

    def __init__(self) -> None:
        self.errors: dict[str, Exception] = {}

    def cameras(self) -> set[str]:
        self._fail("")
        return {"gate", "yard"}

    def waiting(self, camera: str, without: Collection[bytes]) -> list[str]:
        del without
        self._fail(camera)
        return [f"a picture of {camera}"]

    def _fail(self, name: str) -> None:
        if error := self.errors.get(name):
            raise error


@pytest.fixture
def pictures() -> Pictures:
    return Pictures()


@pytest.fixture
def inbox(pictures: Pictures) -> PushedInbox:
    return PushedInbox(pictures)  # type: ignore[arg-type]


async def test_a_camera_whose_pictures_cannot_be_read_holds_up_no_other(
    pictures: Pictures, inbox: PushedInbox, caplog: pytest.LogCaptureFixture
) -> None:
    pictures.errors = {"gate": ValueError("a damaged row")}
    answers = [await inbox.take(name, ()) for name in ("gate", "yard", "gate", "yard")]
    assert answers == [(), ["a picture of yard"], (), ["a picture of yard"]]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("name", ["", "gate"])
async def test_a_database_that_is_away_is_asked_for_no_camera_and_told_once(
    monkeypatch: pytest.MonkeyPatch,
    pictures: Pictures,
    inbox: PushedInbox,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    pictures.errors = {name: StoreUnavailable("the database is away")}
    assert [await inbox.take(camera, ()) for camera in ("gate", "yard", "gate")] == [()] * 3
    assert len(caplog.records) == 1
    pictures.errors = {}
    monkeypatch.setattr(camera_sources, "POLL_S", 0.0)
    assert await inbox.take("yard", ()) == ["a picture of yard"]
