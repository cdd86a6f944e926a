"""Child processes that decode, as their parent process sees them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import ServerError
from orchestrator.host.subprocesses import prepare_child, without_secrets
from plate_cameras.clocks import steady_s
from plate_cameras.sources.messages import HEAD, Message, pack, unpack, unpack_head

COMMAND = (sys.executable, "-m", "plate_cameras.sources")
PACKAGES = Path(__file__).resolve().parents[2]
"""Folder of the package. `-m` searches it first, in any working directory."""
END_S, REAP_EVERY_S = 5.0, 0.005
"""Longest wait for the kernel to end a process, and how often that is looked at."""
CANCELLED_S = 0.5
"""The same where the wait is cancelled. The event loop stands still meanwhile."""


@dataclass(frozen=True)
class Child:
    """A running child process and the socket to it."""

    process: subprocess.Popen[bytes]
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    @classmethod
    async def start(cls, command: Sequence[str] = COMMAND) -> Child:
        """Start a child. It ends when the thread of this call ends.

        Raises:
            ServerError: It cannot be started.
        """
        try:
            return await cls._start(command)
        except (OSError, subprocess.SubprocessError, RuntimeError) as error:  # or no descriptors
            reason = getattr(error, "strerror", None) or error
            raise ServerError(f"decoder: {command[0]} cannot be run: {reason}") from error

    @classmethod
    async def _start(cls, command: Sequence[str]) -> Child:
        ours, theirs = socket.socketpair()
        with theirs:
            # Before the process is started: a later exception would leave it running.
            try:
                reader, writer = await asyncio.open_unix_connection(sock=ours)
            except BaseException:
                ours.close()
                raise
            try:
                process = subprocess.Popen(
                    [*command, str(theirs.fileno())],
                    env=without_secrets(),
                    cwd=PACKAGES,
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is ours to handle
                    preexec_fn=prepare_child,
                )
            except BaseException:
                writer.close()
                raise
        return cls(process, reader, writer)

    async def read(self) -> Message:
        """Return the next message.

        Raises:
            EOFError: The process has ended.
            ServerError: It sends no message of this version.
        """
        try:
            text_bytes, jpeg_bytes = unpack_head(await self._reader.readexactly(HEAD.size))
            text = await self._reader.readexactly(text_bytes)
            return unpack(text, await self._reader.readexactly(jpeg_bytes))
        except OSError as error:
            raise EOFError(str(error)) from error

    def send(self, message: Message) -> None:
        """Send a message. It is lost if the process has ended."""
        if not self._writer.is_closing():
            self._writer.write(pack(message))

    async def end(self) -> int:
        """End the process, and return its exit status."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self._writer.close()
        # No thread waits for it: there may be none, and the process is reaped in a moment.
        deadline_s = steady_s() + END_S
        try:
            while self.process.poll() is None and steady_s() < deadline_s:
                await asyncio.sleep(REAP_EVERY_S)
        finally:  # also after a second cancellation, or the process would stay a zombie
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(CANCELLED_S)
        return -1 if self.process.returncode is None else self.process.returncode
