"""Opens the streams of cameras, be they played here or made of pictures that are sent to us."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from concurrent.futures import Executor
from pathlib import Path

from orchestrator.errors import SettingsError
from plate_cameras.background_tasks import Note, make_note
from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera
from plate_cameras.frames import Upload
from plate_cameras.message_forms import FOLDER, PUSH, is_sent
from plate_cameras.sources.decoders import Decoders
from plate_cameras.sources.sent.folder_pictures import FolderPictures, make_folder_thread
from plate_cameras.sources.sent.sent_stream import POLL_S, SentPicture, SentStream
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing.pushed_pictures import PushedPicture, PushedPictures
from plate_cameras.tracking.pass_tracker import PassTracker
from plate_cameras.tracking.sent_tracker import SentTracker
from plate_cameras.watching.camera_loop import FrameStream


class PushedInbox:
    """Looks up now and then which cameras have waiting pictures, once for all streams."""

    def __init__(self, pushed_pictures: PushedPictures) -> None:
        self._pictures, self._query_lock = pushed_pictures, asyncio.Lock()
        self._query_s, self._cameras = float("-inf"), frozenset[str]()
        self._notes = defaultdict[str, Note](
            lambda: make_note("pictures that cameras send are not read")
        )

    async def take(self, camera: str, without: Collection[bytes]) -> Sequence[PushedPicture]:
        """Return the next pictures of a camera. While the database is away, there are none.

        Args:
            camera: Name of the camera.
            without: Digests of pictures that are left out.
        """
        if camera not in await self._find_cameras():
            return ()
        try:
            pictures = await asyncio.to_thread(self._pictures.waiting, camera, without)
        except Exception as error:  # whatever it is, the next round may succeed
            is_away = isinstance(error, StoreUnavailable)
            self._cameras = frozenset() if is_away else self._cameras - {camera}
            self._notes["" if is_away else camera](error)
            return ()
        self._notes[camera](None)
        return pictures

    async def _find_cameras(self) -> Collection[str]:
        """Return the cameras with waiting pictures, as the last query has found them."""
        try:
            async with self._query_lock:
                if steady_s() - self._query_s >= POLL_S:
                    self._query_s = steady_s()
                    self._cameras = await asyncio.to_thread(self._pictures.cameras)
                    self._notes[""](None)
        except Exception as error:  # whatever it is, the next round may succeed
            self._notes[""](error)
            self._query_s, self._cameras = steady_s(), frozenset()
        return self._cameras

    async def finish(self, picture: PushedPicture) -> None:
        """Forget a picture that was read."""
        await asyncio.to_thread(self._pictures.finish, picture.camera, picture.digest)


class _CameraInbox:
    """The waiting pictures of one camera. Each is given out once."""

    problem = ""

    def __init__(self, inbox: PushedInbox, camera: str) -> None:
        self._inbox, self._camera, self._taken_digests = inbox, camera, set[bytes]()

    async def take(self) -> Sequence[SentPicture]:
        pictures = await self._inbox.take(self._camera, frozenset(self._taken_digests))
        self._taken_digests |= {picture.digest for picture in pictures}
        return [self._to_sent(picture) for picture in pictures]

    def _to_sent(self, picture: PushedPicture) -> SentPicture:
        async def finish() -> None:
            await self._inbox.finish(picture)
            self._taken_digests.discard(picture.digest)

        upload = Upload(picture.digest, finish, finish, picture.text, picture.score)
        return SentPicture(picture.jpeg, picture.time_s, picture.clock, upload)


class Sources:
    """Opens the streams of cameras, be they played here or sent to us.

    Args:
        store: The store, where sent pictures wait; None without one.
    """

    def __init__(self, decoders: Decoders, store: PassStore | None) -> None:
        self._decoders = decoders
        # At most one thread waits for a folder whose file system hangs.
        self._threads = defaultdict[Path, Executor](make_folder_thread)
        self._inbox = PushedInbox(store.pushed_pictures) if store else None

    def open(self, camera: Camera) -> FrameStream:
        """Open the stream of a camera.

        Raises:
            SettingsError: It sends to the gateway, and there is no store in common.
        """
        if camera.url.startswith(FOLDER):
            folder = Path(camera.url.removeprefix(FOLDER)).absolute()
            pictures = FolderPictures(folder, camera.read_files, self._threads[folder])
            return SentStream(camera, pictures)
        if not camera.url.startswith(PUSH):
            return self._decoders.open(camera)
        if self._inbox is None:
            raise SettingsError(f"{camera.name}: wanted a file CAMERAS.toml, whose store it needs")
        return SentStream(camera, _CameraInbox(self._inbox, camera.name))


def make_tracker(camera: Camera) -> PassTracker:
    """Return the tracker for a camera."""
    return SentTracker(camera) if is_sent(camera.url) else PassTracker(camera)
