"""The cameras of a street over RTSP, by GStreamer. Runs with the system's Python.

    /usr/bin/python3 -m workshop.benchmarks.camera_faults.rtsp_street PORT CAMERAS STARTED_S

The cameras are at `/0`, `/1` and so on. They show what the timetable says for the monotonic clock.
The port is printed when the server listens.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

from workshop.benchmarks.camera_faults.timetable import (  # noqa: E402
    BITS,
    BLOCK,
    CODE_PX,
    LIGHT,
    NOBODY,
    PLATE_WH,
    PLATE_Y,
    ROAD,
    SIZE_WH,
    Sight,
    Street,
)

RATE = 8
TICK_STEP = 80
"""Grey levels between two ticks."""
PIPELINE = (
    "( appsrc name=source is-live=true do-timestamp=true format=time"
    f" caps=video/x-raw,format=GRAY8,width={SIZE_WH[0]},height={SIZE_WH[1]},framerate={RATE}/1"
    " ! videoconvert ! x264enc tune=zerolatency speed-preset=ultrafast threads=1"
    f" key-int-max={RATE} ! video/x-h264,profile=constrained-baseline"
    " ! rtph264pay name=pay0 pt=96 config-interval=-1 )"
)


def draw(sight: Sight, tick: int) -> bytes:
    """Return a picture of a camera in grey levels: three kinds of rows.

    Its upper right corner changes with each tick, so that the camera does not look frozen.
    """
    width, height = SIZE_WH
    code = b"".join(bytes([LIGHT * (sight.code >> bit & 1)]) * BLOCK for bit in range(BITS))
    edge, road = code.ljust(width, bytes([tick * TICK_STEP % LIGHT])), bytes([ROAD]) * width
    if sight.vehicle == NOBODY:
        return edge * CODE_PX + road * (height - CODE_PX)
    plate = (bytes([LIGHT] * 2 + [ROAD] * 6) * width)[: PLATE_WH[0]]
    row = road[: sight.x] + plate + road[sight.x + PLATE_WH[0] :]
    below = height - PLATE_Y - PLATE_WH[1]
    return edge * CODE_PX + road * (PLATE_Y - CODE_PX) + row * PLATE_WH[1] + road * below


def make_camera(street: Street, camera: int) -> Any:
    """Return GStreamer's factory of a camera. It draws pictures until the last client leaves."""

    def configure(_: object, media: Any) -> None:
        source = media.get_element().get_by_name("source")
        is_over: list[object] = []
        media.connect("unprepared", is_over.append)

        def push() -> bool:
            now_s = time.monotonic()
            picture = draw(street.look(camera, now_s), int(now_s * RATE))
            source.emit("push-buffer", Gst.Buffer.new_wrapped(picture))
            return not is_over

        GLib.timeout_add(1000 // RATE, push)

    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(PIPELINE)
    factory.set_shared(True)
    factory.connect("media-configure", configure)
    return factory


def main(port: str, cameras: str, started_s: str) -> None:
    """Serve until the process is ended."""
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_service(port)
    street = Street(int(cameras), float(started_s))
    for camera in range(street.cameras):
        server.get_mount_points().add_factory(f"/{camera}", make_camera(street, camera))
    server.attach(None)
    print(server.get_bound_port(), flush=True)
    GLib.MainLoop().run()


if __name__ == "__main__":
    main(*sys.argv[1:])
