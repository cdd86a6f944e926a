"""The canary, a health check: it regularly sends the service a picture that it must read."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from orchestrator.contract import ENCODED, MODEL, PROBE
from orchestrator.errors import ModelError, Overloaded, PlateError
from orchestrator.serving.protocol import bytes_tensors
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, PictureFile

EVERY_S = 10.0
SOON_S = 0.5
"""Pause after a health check that failed, seconds."""
READY_S, ALIVE_S = 30.0, 120.0
"""Greatest age of the last good answer, seconds: for readiness, and for liveness."""

logger = logging.getLogger(__name__)


class Canary:
    """A health check that regularly asks the service for a text that it must read.

    Args:
        read_texts: Returns the texts that the service reads in the canary's picture.
        text: Text that the service must read. If empty, any answer is good.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        read_texts: Callable[[], Awaitable[Sequence[str]]],
        text: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read_texts, self._text, self._clock = read_texts, text, clock
        self._start_s = clock()
        self._last_read_s: float | None = None
        self._trouble = ""

    @property
    def age_s(self) -> float:
        """Seconds since the text was last read, or since the start if it never was."""
        return self._clock() - (self._start_s if self._last_read_s is None else self._last_read_s)

    def is_ready(self) -> bool:
        """Tell whether callers should be sent to this service."""
        return self._last_read_s is not None and self.age_s < READY_S

    def is_alive(self) -> bool:
        """Tell whether the service reads, or may do so soon. A restart would not help then."""
        return self.age_s < ALIVE_S

    async def watch(self) -> None:
        """Run health checks for ever."""
        while True:
            await self.check()
            await asyncio.sleep(EVERY_S if self.is_ready() else SOON_S)

    async def check(self) -> None:
        """Run one health check. A full service counts as alive: a restart would make it worse."""
        try:
            texts = await self._read_texts()
        except Overloaded:
            self._note("")
        except PlateError as error:
            self._note(str(error))
        else:
            is_right = not self._text or [*texts] == [self._text]
            self._note("" if is_right else ", ".join(texts) or "no plate")

    def _note(self, trouble: str) -> None:
        """Keep the result of a health check. Log each new fault once."""
        if trouble and trouble != self._trouble:
            logger.error("canary: wanted %s, got: %s", self._text or "an answer", trouble)
        if not trouble:
            self._last_read_s = self._clock()
        self._trouble = trouble


def plate_reading(
    infer: Callable[[InferenceRequest], Awaitable[InferenceResponse]], file: bytes
) -> Callable[[], Awaitable[list[str]]]:
    """Return a function that sends a picture file through all models and returns its texts."""
    request = InferenceRequest(MODEL, (PictureFile(ENCODED, file),), ("texts",), id=PROBE)

    async def read() -> list[str]:
        return _texts_of(await infer(request))

    return read


def _texts_of(answer: InferenceResponse) -> list[str]:
    (output,) = answer.outputs
    return [text.decode(errors="replace") for text in bytes_tensors.decode(output, ModelError)]
