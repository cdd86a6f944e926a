"""A decoding process: follows several sources, and sends their frames when they are asked for.

The first argument is the number of the socket to the watcher; see `messages`.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import cv2

from orchestrator.cameras.configuration import Camera
from orchestrator.cameras.sources.camera_thread import CameraThread
from orchestrator.cameras.sources.messages import Head, pack, read_message
from orchestrator.cameras.sources.newest_frame import OfferedFrame
from orchestrator.system.toml_files import build

STATUS_EVERY_S = 0.5
ENCODERS = 2
"""Threads that make JPEG files."""
QUALITY = 92
"""JPEG quality of frames: their plates are read as well as from the frames themselves."""


class DecodingProcess:
    """Follows the sources that the watcher names.

    Args:
        connection: The socket to the watcher.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._taking = threading.Lock()
        self._threads: dict[int, CameraThread] = {}
        self._wanted: set[int] = set()
        self._sending_frames: set[int] = set()
        self._encoders = ThreadPoolExecutor(ENCODERS)

    def run(self) -> None:
        """Obey the watcher until it ends."""
        threading.Thread(target=self._tell_statuses, daemon=True).start()
        with self._connection.makefile("rb") as reader:
            while (message := read_message(reader)) is not None:
                head, _ = message
                getattr(self, f"_{head['kind']}")(head)

    def _open(self, head: Head) -> None:
        id_ = head["id"]
        thread = CameraThread(
            build(Camera, head["camera"]),
            on_ready=partial(self._offer, id_),
            on_end=partial(self._end, id_),
            after_s=head["after_s"],
        )
        self._threads[id_] = thread
        thread.start()

    def _take(self, head: Head) -> None:
        if thread := self._threads.get(head["id"]):
            self._wanted.add(head["id"])
            self._send_if_wanted(head["id"], thread)

    def _close(self, head: Head) -> None:
        if thread := self._threads.pop(head["id"], None):
            thread.stop()

    def _send_if_wanted(self, id_: int, thread: CameraThread) -> None:
        """Send the newest frame if it was asked for. If there is none yet, the next one follows."""
        with self._taking:
            if id_ not in self._wanted:
                return
            self._sending_frames.add(id_)
            if frame := thread.newest.take():
                self._wanted.discard(id_)
                self._encoders.submit(self._send_frame, id_, thread, frame)
            else:
                self._sending_frames.discard(id_)

    def _offer(self, id_: int) -> None:
        self._send({"kind": "ready", "id": id_})
        if thread := self._threads.get(id_):
            self._send_if_wanted(id_, thread)

    def _end(self, id_: int) -> None:
        """Tell the end of a file after its last frame was sent."""
        newest = self._threads[id_].newest
        while id_ in self._threads and (not newest.is_empty() or id_ in self._sending_frames):
            time.sleep(0.01)
        self._send({"kind": "ended", "id": id_})

    def _send_frame(self, id_: int, thread: CameraThread, frame: OfferedFrame) -> None:
        picture = frame.decoded.video.to_ndarray(format="bgr24")
        _, jpeg = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        thread.status = replace(thread.status, sent=thread.status.sent + 1)
        head = {
            "kind": "frame",
            "id": id_,
            "number": frame.number,
            "time_s": frame.decoded.time_s,
            "clock": frame.clock,
            "size_wh": frame.decoded.size_wh,
        }
        self._send(head, jpeg.tobytes())
        self._sending_frames.discard(id_)

    def _tell_statuses(self) -> None:
        while True:
            for id_, thread in [*self._threads.items()]:
                age_s = time.monotonic() - thread.beat_s if _may_hang(thread) else 0.0
                status = asdict(thread.status)
                self._send({"kind": "status", "id": id_, "status": status, "age_s": age_s})
            time.sleep(STATUS_EVERY_S)

    def _send(self, head: dict[str, Any], body: bytes = b"") -> None:
        with self._sending:
            self._connection.sendall(pack(head, body))


def _may_hang(thread: CameraThread) -> bool:
    """Tell whether the source should do something. A file waits until its frame is taken."""
    is_file_that_waits = thread.status.clock == "file" and not thread.newest.is_empty()
    return thread.status.state not in ("ended", "waiting", "off") and not is_file_that_waits


def main() -> None:
    """Run a decoding process."""
    cv2.setNumThreads(1)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        DecodingProcess(connection).run()


if __name__ == "__main__":
    main()
