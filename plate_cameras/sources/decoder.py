"""The decoder: a child process that plays several cameras, a thread for each."""

from __future__ import annotations

import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import BinaryIO

from orchestrator.host.resources import usable_cores
from plate_cameras.sources.looks import Look, encode_jpeg
from plate_cameras.sources.messages import (
    HEAD,
    Close,
    Configure,
    Message,
    Nothing,
    Open,
    Picture,
    Want,
    pack,
    unpack,
)
from plate_cameras.sources.network.failures import log_fault
from plate_cameras.sources.player import Player

REPORT_EVERY_S = 0.5


class Decoder:
    """Serves the parent process at the other end of a socket. See `messages`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._players: dict[int, Player] = {}
        self._send_lock = threading.Lock()
        self._encoders = ThreadPoolExecutor(usable_cores(), thread_name_prefix="jpeg")

    def serve(self) -> None:
        """Play cameras until the parent process closes the socket.

        An error here ends the process: the parent process starts another.
        """
        threading.Thread(target=self._report, daemon=True).start()
        self._encoders.submit(int).result()  # one of its threads runs from now on
        with self._connection.makefile("rb") as stream:
            while (message := read_message(stream)) is not None:
                self._handle(message)

    def _handle(self, message: Message) -> None:
        if isinstance(message, Open):
            self._players[message.id] = Player(message, self._send)
            self._players[message.id].ensure_started()
        elif isinstance(message, Configure) and message.id in self._players:
            self._players[message.id].configure(message.camera)
        elif isinstance(message, Close) and message.id in self._players:
            self._players.pop(message.id).close()
        elif isinstance(message, Want) and message.id in self._players:
            with suppress(RuntimeError):  # no further thread can be started: those that run do it
                self._encoders.submit(self._answer, message.id, self._players[message.id])

    def _answer(self, number: int, player: Player) -> None:
        """Send the look that waits; it is encoded only now that it is wanted.

        There is an answer even after a failure, because the parent process waits for it.
        """
        look = player.slot.take()
        if look is None:
            self._send(Nothing(number))
            return
        try:
            answer = self._encode(number, look)
        except Exception as error:
            log_fault(player.name, error)
            player.tell("a frame cannot be encoded")
            answer = Nothing(number)
        self._send(answer)
        player.slot.confirm()

    def _encode(self, number: int, look: Look) -> Message:
        jpeg, size_wh = encode_jpeg(look.frame)
        times = (look.time_s, look.clock)
        return Picture(number, look.number, *times, size_wh, jpeg, look.steady_s)

    def _report(self) -> None:
        """Report all cameras again and again. Without reports the process is of no use."""
        try:
            while True:
                for player in [*self._players.values()]:
                    player.ensure_started()
                    self._send(player.report())
                time.sleep(REPORT_EVERY_S)
        except Exception as error:
            log_fault("reports", error)
            os._exit(1)

    def _send(self, message: Message) -> None:
        """Send a message. Without the parent process there is nothing left to do."""
        try:
            with self._send_lock:
                self._connection.sendall(pack(message))
        except OSError:
            os._exit(0)


def read_message(stream: BinaryIO) -> Message | None:
    """Read a message; return None at the end of the stream."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    text_bytes, jpeg_bytes = HEAD.unpack(head)
    text, jpeg = stream.read(text_bytes), stream.read(jpeg_bytes)
    return unpack(text, jpeg) if len(text) == text_bytes else None
