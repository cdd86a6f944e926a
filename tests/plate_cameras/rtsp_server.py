"""A fake camera: plays the pictures of a folder over RTSP in a loop. Needs Debian's Python.

    /usr/bin/python3 rtsp_server.py FOLDER PORT [CERTIFICATE KEY]

The folder holds 0000.jpg, 0001.jpg and so on, ten for a second. PORT 0 takes any. With the PEM
files of a certificate and its key, it speaks RTSP over TLS. The port is printed when the server
listens. A line `WIDTH HEIGHT` on the standard input changes the size of the picture. The end of
the input ends the server.
"""

import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import Gio, GLib, Gst, GstRtspServer  # noqa: E402

PIPELINE = (
    "( multifilesrc location={folder}/%04d.jpg loop=true"
    " caps=image/jpeg,framerate=10/1 ! jpegdec ! videoconvert"
    " ! videoscale ! capsfilter name=size caps=video/x-raw,width=320,height=180"
    " ! x264enc tune=zerolatency speed-preset=ultrafast threads=1 key-int-max=10"
    " ! video/x-h264,profile=constrained-baseline ! rtph264pay name=pay0 pt=96 config-interval=-1 )"
)
VIEWER = "viewer"


class RtspProgram:
    """The RTSP server and its stream."""

    def __init__(self, folder: str, port: str, *certificate: str) -> None:
        self.media = None
        self.server = GstRtspServer.RTSPServer()
        self.server.set_service(port)
        factory = GstRtspServer.RTSPMediaFactory()
        factory.set_launch(PIPELINE.format(folder=folder))
        factory.set_shared(True)
        factory.connect("media-configure", self.configure)
        if certificate:
            self.encrypt(factory, *certificate)
        self.server.get_mount_points().add_factory("/street", factory)
        self.server.attach(None)

    def encrypt(self, factory: object, certificate: str, key: str) -> None:
        """Switch TLS on, and permit access without a login."""
        auth, token = GstRtspServer.RTSPAuth(), GstRtspServer.RTSPToken()
        auth.set_tls_certificate(Gio.TlsCertificate.new_from_files(certificate, key))
        token.set_string(GstRtspServer.RTSP_TOKEN_MEDIA_FACTORY_ROLE, VIEWER)
        auth.set_default_token(token)
        permissions = GstRtspServer.RTSPPermissions()
        permissions.add_role(VIEWER)
        for right in ("media.factory.access", "media.factory.construct"):
            permissions.add_permission_for_role(VIEWER, right, True)
        factory.set_permissions(permissions)
        self.server.set_auth(auth)

    def configure(self, _: object, media: object) -> None:
        """Keep the stream, to change it later."""
        self.media = media

    def resize(self, line: str) -> None:
        """Change the size of the picture."""
        width, height = line.split()
        caps = Gst.Caps.from_string(f"video/x-raw,width={width},height={height}")
        self.media.get_element().get_by_name("size").set_property("caps", caps)


def main() -> None:
    """Serve until the standard input ends."""
    Gst.init(None)
    camera = RtspProgram(*sys.argv[1:])
    loop = GLib.MainLoop()
    threading.Thread(target=loop.run, daemon=True).start()
    sys.stdout.write(f"{camera.server.get_bound_port()}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        camera.resize(line.strip())


if __name__ == "__main__":
    main()
