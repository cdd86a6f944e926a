"""What a server and its workers say, and which part of it tells why they are in trouble."""

from __future__ import annotations

import logging
import re
import textwrap
from collections import deque
from collections.abc import Iterable, Iterator

TELLING = ("E", "{")  # Triton's errors and our failed requests
NOISE = ("CudaDriverHelper", "NVML", "DCGM", "unable to create stream for")
"""What Triton says where there is no GPU."""
TRITONS = re.compile(r"[IWEF]\d{4} |error: ")
"""How lines begin that no worker wrote."""
EMPTY = ("terminate called", "Non-graceful termination", *NOISE)
"""What lines hold that do not say why a worker died."""
NOT_LOADED = re.compile(r"""failed to load '([^']+)' version \d+: [A-Za-z ]+: (.*?)"?$""")
NOT_READ = re.compile(r"""Poll failed for model directory '([^']+)': (.*?)"?$""")
NOT_STARTED = re.compile(r'(failed to start .*?|(?<=error: ).*?)\s*"?$')
LAST_WORDS = (
    re.compile(r"Fatal Python error: (.+)"),
    re.compile(r"what\(\):\s+(.+)"),
    re.compile(r"(error while loading shared libraries: .+)"),
    re.compile(r"^((?:\w+\.)*(?:\w+(?:Error|Exit)|\w*Exception)\b.*)"),  # the end of a traceback
)
ELSEWHERE = re.compile(r"Exception from \S+:\d+:\s*|Check '.*' failed at \S+:\d+:\s*")
"""Where in OpenVINO's source it happened."""
UNHEALTHY = "is not healthy"
LONGEST = 240  # characters of a reason

logger = logging.getLogger(__name__)


class Log:
    """The end of what a server and its workers wrote."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=200)
        self._held: list[str] | None = []

    def __iter__(self) -> Iterator[str]:
        return iter([*self._lines])

    def clear(self) -> None:
        self._lines.clear()

    def follow(self, lines: Iterable[str]) -> None:
        """Keep lines until there are no more, and pass them on."""
        for line in lines:
            self._lines.append(line)
            is_error = line.startswith(TELLING) and not any(part in line for part in NOISE)
            if is_error and self._held is not None:
                self._held.append(line)
            is_shown = is_error and self._held is None
            logger.log(logging.ERROR if is_shown else logging.DEBUG, "%s", line.rstrip())

    def release(self) -> None:
        """Show errors from now on, and those so far: they did not end the start, which says why."""
        held, self._held = self._held or [], None
        for line in held:
            logger.error("%s", line.rstrip())

    def theirs(self) -> list[str]:
        """Return the lines that workers wrote, without Triton's own and without failed requests."""
        return [line.rstrip() for line in self if _is_theirs(line)]

    def find_unloaded(self) -> tuple[str, str] | None:
        """Return the first model that could not be loaded and why, on one line.

        The reason is empty where Triton knows none but that its worker died.
        """
        for mark in (NOT_LOADED, NOT_READ):
            for found in self._found(mark):
                model, why = found.groups()
                return model, "" if UNHEALTHY in why else on_one_line(why)
        return None

    def last_words(self) -> str:
        """Return what a worker said before it died, on one line; empty when nothing."""
        for mark in LAST_WORDS:
            for found in self._found(mark):
                return on_one_line(found[1])
        return on_one_line(next(filter(_is_telling, reversed([*self])), ""))

    def reason(self) -> str:
        """Return on one line what tells best why the server is in trouble."""
        if unloaded := self.find_unloaded():
            model, why = unloaded
            return f"{model}: {why or self.last_words() or 'its worker died'}"
        for found in self._found(NOT_STARTED):
            return on_one_line(found[1])
        return self.last_words() or "it left no message"

    def _found(self, mark: re.Pattern[str]) -> Iterator[re.Match[str]]:
        return filter(None, [mark.search(line.rstrip("\n")) for line in self])


def _is_theirs(line: str) -> bool:
    is_tritons = TRITONS.match(line) or any(part in line for part in NOISE)
    return bool(line.strip()) and not is_tritons and not line.startswith("{")


def _is_telling(line: str) -> bool:
    """Tell whether a worker may have written a line to say what is wrong: no stack, no dump."""
    is_theirs = line[:1].isalpha() and not TRITONS.match(line)
    return is_theirs and not any(part in line for part in EMPTY)


def on_one_line(message: str) -> str:
    """Return what a message of several lines comes to, without its Python stack."""
    said = message.replace("\\n", "\n").replace('\\"', '"').partition("\n\nAt:")[0]
    return textwrap.shorten(ELSEWHERE.sub("", said), LONGEST, placeholder=" ...")
