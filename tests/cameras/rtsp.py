"""RTSP streams for tests, from a server in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import pytest

SYSTEM_PYTHON = "/usr/bin/python3"
SERVER = Path(__file__).with_name("rtsp_server.py")
WANTED = (
    "wanted Debian's gir1.2-gst-rtsp-server-1.0, python3-gi, gstreamer1.0-plugins-{base,good,bad,"
    "ugly}"
)


@lru_cache(maxsize=1)
def has_server() -> bool:
    """Tell whether the system has GStreamer's RTSP server and an encoder."""
    code = (
        "import gi; gi.require_version('GstRtspServer', '1.0'); gi.require_version('Gst', '1.0')\n"
        "from gi.repository import Gst, GstRtspServer; Gst.init(None)\n"
        "assert Gst.ElementFactory.find('x264enc') and Gst.ElementFactory.find('rtph264pay')"
    )
    try:
        done = subprocess.run([SYSTEM_PYTHON, "-c", code], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


needs_rtsp = pytest.mark.skipif(not has_server(), reason=WANTED)


def ball_picture(width: int = 320, height: int = 180, rate: int = 10) -> str:
    """Return a pipeline with a moving ball and noise, with a key frame each second."""
    return (
        f"videotestsrc is-live=true pattern=ball ! "
        f"video/x-raw,width={width},height={height},framerate={rate}/1 ! "
        f"x264enc tune=zerolatency speed-preset=ultrafast key-int-max={rate}"
    )


@contextmanager
def serve_rtsp(port: int, pipeline: str) -> Iterator[subprocess.Popen[str]]:
    """Serve a pipeline at `rtsp://127.0.0.1:PORT/stream` for the length of a `with` block."""
    command = [SYSTEM_PYTHON, str(SERVER), str(port), pipeline]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout
            assert server.stdout.readline() == "serving\n"
            yield server
        finally:
            server.kill()
