"""The output of a server and its workers, and the lines in it that explain a failure."""

from __future__ import annotations

import logging
import re
import textwrap
from collections import deque
from collections.abc import Iterable, Iterator

TELLING = ("E", "{")  # prefixes of Triton's errors and of our failed requests
NOISE = ("CudaDriverHelper", "NVML", "DCGM", "unable to create stream for")
"""Texts that Triton writes on a machine without a GPU."""
TRITONS = re.compile(r"[IWEF]\d{4} |error: ")
"""Prefixes of the lines that no worker wrote."""
EMPTY = ("terminate called", "Non-graceful termination", *NOISE)
"""Texts in lines that do not explain why a worker died."""
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
"""The place in OpenVINO's source, which is cut out of a reason."""
UNHEALTHY = "is not healthy"
MAX_CHARACTERS = 240  # characters of a reason

logger = logging.getLogger(__name__)


class ServerLog:
    """The last lines that a server and its workers wrote."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=200)
        self._start_errors: list[str] | None = []

    def __iter__(self) -> Iterator[str]:
        return iter([*self._lines])

    def clear(self) -> None:
        self._lines.clear()

    def follow(self, lines: Iterable[str]) -> None:
        """Keep lines until there are no more, and forward them."""
        for line in lines:
            self._lines.append(line)
            is_error = line.startswith(TELLING) and not any(part in line for part in NOISE)
            if is_error and self._start_errors is not None:
                self._start_errors.append(line)
            is_shown = is_error and self._start_errors is None
            logger.log(logging.ERROR if is_shown else logging.DEBUG, "%s", line.rstrip())

    def release(self) -> None:
        """Show errors from now on, and the earlier ones: they did not end the start."""
        lines, self._start_errors = self._start_errors or [], None
        for line in lines:
            logger.error("%s", line.rstrip())

    def theirs(self) -> list[str]:
        """Return the lines of workers, without Triton's own and without failed requests."""
        return [line.rstrip() for line in self if _is_theirs(line)]

    def find_unloaded(self) -> tuple[str, str] | None:
        """Return the first model that could not be loaded, and the reason on one line.

        The reason is empty when Triton says only that the worker died.
        """
        for mark in (NOT_LOADED, NOT_READ):
            for match in self._search(mark):
                model, why = match.groups()
                return model, "" if UNHEALTHY in why else on_one_line(why)
        return None

    def last_words(self) -> str:
        """Return the last message of a worker that died, on one line; empty when it has none."""
        for mark in LAST_WORDS:
            for match in self._search(mark):
                return on_one_line(match[1])
        return on_one_line(next(filter(_is_telling, reversed([*self])), ""))

    def reason(self) -> str:
        """Return, on one line, the best explanation of the server's failure."""
        if failure := self.find_unloaded():
            model, why = failure
            return f"{model}: {why or self.last_words() or 'its worker died'}"
        for match in self._search(NOT_STARTED):
            return on_one_line(match[1])
        return self.last_words() or "it left no message"

    def _search(self, mark: re.Pattern[str]) -> Iterator[re.Match[str]]:
        return filter(None, [mark.search(line.rstrip("\n")) for line in self])


def _is_theirs(line: str) -> bool:
    is_tritons = TRITONS.match(line) or any(part in line for part in NOISE)
    return bool(line.strip()) and not is_tritons and not line.startswith("{")


def _is_telling(line: str) -> bool:
    """Tell whether a line can be a worker's error message: no stack, no dump."""
    is_theirs = line[:1].isalpha() and not TRITONS.match(line)
    return is_theirs and not any(part in line for part in EMPTY)


def on_one_line(message: str) -> str:
    """Return a message of several lines as one line, without its Python stack."""
    text = message.replace("\\n", "\n").replace('\\"', '"').partition("\n\nAt:")[0]
    return textwrap.shorten(ELSEWHERE.sub("", text), MAX_CHARACTERS, placeholder=" ...")
