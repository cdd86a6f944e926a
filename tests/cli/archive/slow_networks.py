"""Slow networks for Ray's actors; their answers name the process."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import PictureError, ServerError
from orchestrator.plates import Plate, Plates

BROKEN, UNANSWERED = b"broken", b"unanswered"


class SlowNetworks:
    """Finds one plate in each picture; its text is the id of the process."""

    def __init__(self, *_: object, pause_s: float = 0.2) -> None:
        self.pause_s = pause_s

    def identify(self) -> str:
        return "slow"

    @contextmanager
    def open(self) -> "Iterator[SlowNetworks]":
        yield self

    def is_ready(self) -> bool:
        return True

    def recognize(self, picture: bytes, **_: object) -> Plates:
        time.sleep(self.pause_s)
        if picture == BROKEN:
            raise PictureError("encoded_image: damaged picture")
        if picture.startswith(UNANSWERED):
            raise ServerError("somewhere:1: wanted an answer, got none")
        return Plates((Plate((0, 0, 90, 20), text=str(os.getpid())),))
