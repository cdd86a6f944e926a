"""Callers in a loop, and the answers that they got."""

from __future__ import annotations

import threading
import time

import cv2

from orchestrator import PlateClient
from orchestrator.errors import PlateError
from tests.samples import STREET
from tests.waiting import until

CAR_XYXY = (530, 570, 860, 745)
"""The part of the street with one plate. Its recognition needs little CPU, so a server can start
beside the callers."""
PAUSE_S = 0.05
"""Usual pause of a caller between two calls, in seconds."""


class CallerLoad:
    """A number of callers for each URL, for the length of a `with` block.

    Attributes:
        texts: The text of the first plate of each answer.
        errors: Errors in place of answers.
        car: The picture that callers send, uint8 [H, W, 3] BGR.
    """

    def __init__(self, *urls: str, callers: int = 3, pause_s: float = PAUSE_S) -> None:
        self.texts: list[str] = []
        self.errors: list[PlateError] = []
        self.is_over = False
        self.pause_s = pause_s
        x0, y0, x1, y1 = CAR_XYXY
        self.car = cv2.imread(str(STREET))[y0:y1, x0:x1].copy()
        self.threads = [
            threading.Thread(target=self.call, args=[url]) for url in urls for _ in range(callers)
        ]

    def __enter__(self) -> CallerLoad:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over = True
        for thread in self.threads:
            thread.join()

    def call(self, url: str) -> None:
        with PlateClient(url) as client:
            while not self.is_over:
                try:
                    self.texts.append(client.recognize(self.car)[0].text)
                except PlateError as error:
                    self.errors.append(error)
                time.sleep(self.pause_s)

    def wait_for(self, text: str) -> None:
        """Wait until callers get this text; fail after a timeout."""
        count = len(self.texts)
        until(lambda: text in self.texts[count:], f"a caller who is told {text!r}")
