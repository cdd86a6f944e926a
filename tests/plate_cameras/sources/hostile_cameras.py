"""Hostile cameras that redirect a decoder, and a bystander that must get no connection."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Answer = Callable[["HostileCamera", socket.socket, bytes], None]


@dataclass
class HostileCamera:
    """Answers each request by a script.

    Attributes:
        answer: The script; None reads and says nothing.
        requests: What clients have sent.
        bystander_port: Port of the bystander, which counts as another host.
    """

    answer: Answer | None = None
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    bystander_port: int = 0

    def serve(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self.connections += 1
                threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while request := connection.recv(65536):
                self.requests.append(request)
                if self.answer:
                    self.answer(self, connection, request)
                    if request.startswith(b"GET"):
                        return


@contextmanager
def serve(camera: HostileCamera) -> Iterator[HostileCamera]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        camera.port = listener.getsockname()[1]
        threading.Thread(target=camera.serve, args=(listener,), daemon=True).start()
        try:
            yield camera
        finally:
            listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def hostile(answer: Answer) -> Iterator[tuple[HostileCamera, HostileCamera]]:
    """Serve a camera and a bystander."""
    with serve(HostileCamera()) as bystander, serve(HostileCamera(answer)) as camera:
        camera.bystander_port = bystander.port
        yield camera, bystander


def http(body: str | bytes, kind: str = "", status: str = "200 OK", *lines: str) -> Answer:
    """Answer with a body; `BYSTANDER` and `CAMERA` in it become the addresses of the two."""

    def answer(camera: HostileCamera, connection: socket.socket, request: bytes) -> None:
        content = fill(camera, body if isinstance(body, bytes) else body.encode())
        head = [f"HTTP/1.1 {status}", *([f"Content-Type: {kind}"] if kind else []), *lines]
        head += [f"Content-Length: {len(content)}", "Connection: close", "", ""]
        connection.sendall(fill(camera, "\r\n".join(head).encode()) + content)

    return answer


def fill(camera: HostileCamera, text: bytes) -> bytes:
    for name, port in ((b"BYSTANDER", camera.bystander_port), (b"CAMERA", camera.port)):
        text = text.replace(name, b"127.0.0.1:%d" % port)
    return text


SDP = (
    "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\n"
    "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track1\r\n"
)


def rtsp(**replies: str | list[str]) -> Answer:
    """Answer RTSP requests: with the given replies by method, or like a camera.

    A reply is text or pieces of text, in which `BYSTANDER`, `CAMERA` and `CSEQ` are replaced.
    """

    def answer(camera: HostileCamera, connection: socket.socket, request: bytes) -> None:
        method = request.split(b" ", 1)[0].decode()
        match = re.search(rb"CSeq: *(\d+)", request)
        reply = replies.get(method, usual(method))
        for piece in [reply] if isinstance(reply, str) else reply:
            text = piece.replace("CSEQ", f"CSeq: {match[1].decode() if match else 1}")
            connection.sendall(fill(camera, text.encode()))

    return answer


def usual(method: str) -> str:
    if method == "DESCRIBE":
        return describe(SDP)
    transport = {"SETUP": "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 1\r\n"}
    return f"RTSP/1.0 200 OK\r\nCSEQ\r\n{transport.get(method, '')}\r\n"


def describe(sdp: str) -> str:
    head = "RTSP/1.0 200 OK\r\nCSEQ\r\nContent-Type: application/sdp\r\n"
    return f"{head}Content-Length: {len(sdp)}\r\n\r\n{sdp}"
