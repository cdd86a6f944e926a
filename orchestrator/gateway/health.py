"""Whether the service reads plates: it is asked now and then with a picture that it must read."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from orchestrator.contract import ENCODED, MODEL, PROBE
from orchestrator.errors import ModelError, Overloaded, PlateError
from orchestrator.gateway import elements
from orchestrator.gateway.calls import Answer, Call, Tensor

EVERY_S = 10.0
SOON_S = 0.5
"""Until the next question when the last was not answered well."""
READY_S, ALIVE_S = 30.0, 120.0
"""How old the last good answer may be for who sends callers here, and for who starts pods again."""

logger = logging.getLogger(__name__)


class Canary:
    """Asks the service now and then for a text that it must read.

    Args:
        read: Returns the texts that the service reads in the canary's picture.
        text: The one that it must read; any answer will do when empty.
        clock: Seconds.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[Sequence[str]]],
        text: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read_texts, self._text, self._clock = read, text, clock
        self._begun = clock()
        self._read: float | None = None
        self._trouble = ""

    @property
    def age_s(self) -> float:
        """Seconds since the text was read; since the start when it never was."""
        return self._clock() - (self._begun if self._read is None else self._read)

    def is_ready(self) -> bool:
        """Tell whether callers should come here."""
        return self._read is not None and self.age_s < READY_S

    def is_alive(self) -> bool:
        """Tell whether a restart would not help: the service reads, or may do so soon."""
        return self.age_s < ALIVE_S

    async def watch(self) -> None:
        """Ask for ever."""
        while True:
            await self.ask()
            await asyncio.sleep(EVERY_S if self.is_ready() else SOON_S)

    async def ask(self) -> None:
        """Ask once; a service that is full is alive: a restart would make that worse."""
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
        """Keep whether the text was read; say once what came in its place."""
        if trouble and trouble != self._trouble:
            logger.error("canary: wanted %s, got: %s", self._text or "an answer", trouble)
        if not trouble:
            self._read = self._clock()
        self._trouble = trouble


def plate_reading(
    infer: Callable[[Call], Awaitable[Answer]], file: bytes
) -> Callable[[], Awaitable[list[str]]]:
    """Return a function that sends a picture file through all models and returns its texts."""
    tensor = Tensor(ENCODED, "BYTES", (1,), elements.encode([file]))
    call = Call(MODEL, (tensor,), ("texts",), id=PROBE)

    async def read() -> list[str]:
        return _texts_of(await infer(call))

    return read


def _texts_of(answer: Answer) -> list[str]:
    (output,) = answer.outputs
    return [text.decode(errors="replace") for text in elements.decode(output, ModelError)]
