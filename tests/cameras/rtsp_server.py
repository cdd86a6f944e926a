"""An RTSP server for tests: runs with the system's Python, which has GStreamer's bindings.

usage: rtsp_server.py PORT PIPELINE

It prints a line when it serves `rtsp://127.0.0.1:PORT/stream`.
"""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402 - after the versions

Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(sys.argv[1])
factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(f"( {sys.argv[2]} ! rtph264pay name=pay0 pt=96 config-interval=1 )")
factory.set_shared(True)
server.get_mount_points().add_factory("/stream", factory)
server.attach(None)
print("serving", flush=True)
GLib.MainLoop().run()
