"""Answers over HTTP that the library requests reads: with a limit of size and of time.

By itself it reads whatever comes, as long as something comes every few seconds.
"""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError as LostConnection
from urllib3.exceptions import HTTPError

from plate_cameras.clocks import steady_s

MAX_ANSWER_BYTES = 1 << 20
"""Largest answer of a service of messages. Theirs have some kilobytes."""
MAX_ANSWER_S = 25.0
"""Longest time in which an answer is read."""
BLOCK_BYTES = 65536


class ShortAnswers(HTTPAdapter):
    """Reads short answers, and ends the connections of others."""

    def send(self, *request: Any, **options: Any) -> Any:
        """Return an answer whose content was read.

        Raises:
            RequestException: It is too large, or takes too long.
        """
        answer = super().send(*request, **options)
        try:
            answer._content, answer._content_consumed = _read(answer.raw), True
        except HTTPError as error:
            raise LostConnection(type(error).__name__) from error
        return answer


def _read(raw: Any) -> bytes:
    content, ends_s = bytearray(), steady_s() + MAX_ANSWER_S
    while block := raw.read1(BLOCK_BYTES, decode_content=True):
        content += block
        if len(content) > MAX_ANSWER_BYTES or steady_s() > ends_s:
            raw.close()
            limit = f"{MAX_ANSWER_BYTES} bytes in {MAX_ANSWER_S:g} s"
            raise LostConnection(f"wanted an answer of at most {limit}, got more")
    return bytes(content)


def _call(name: str, *arguments: Any, **options: Any) -> Any:
    """Call one of the functions of requests that send."""
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, ShortAnswers())
        return getattr(session, name)(*arguments, **options)


SENDING = ("delete", "get", "head", "options", "patch", "post", "put", "request")
LIMITED = SimpleNamespace(**vars(requests) | {name: partial(_call, name) for name in SENDING})
"""The library requests, whose functions read short answers alone."""


def limit_answers(plugin: object) -> None:
    """Let a service of Apprise read short answers alone.

    Apprise takes no session. Its services call `requests.post`, so the module of the service gets
    another `requests`. Other users of the library in this process keep theirs.
    """
    module: Any = sys.modules[type(plugin).__module__]
    if hasattr(module, "requests"):  # e-mail sends without it
        module.requests = LIMITED
