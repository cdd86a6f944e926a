"""Tells whether the system's Python can serve RTSP by GStreamer."""

from __future__ import annotations

import subprocess
from contextlib import suppress

SYSTEM_PYTHON = "/usr/bin/python3"
NEEDED = """
import gi
gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import Gio, Gst, GstRtspServer
Gst.init(None)
assert Gio.TlsBackend.get_default().supports_tls()
for name in "appsrc", "multifilesrc", "jpegdec", "x264enc", "rtph264pay":
    assert Gst.ElementFactory.find(name), name
"""
PACKAGES = (
    "python3-gi gir1.2-gst-rtsp-server-1.0 glib-networking gstreamer1.0-plugins-base"
    " gstreamer1.0-plugins-good gstreamer1.0-plugins-ugly"
)
MISSING = f"no GStreamer RTSP server: apt-get install {PACKAGES}"


def is_installed() -> bool:
    """Tell whether Debian's packages for an RTSP server are installed."""
    with suppress(OSError):
        command = [SYSTEM_PYTHON, "-c", NEEDED]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return False
