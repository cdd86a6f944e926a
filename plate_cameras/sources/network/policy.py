"""The limits of a source: its own host and port, the protocols of its address, listed formats.

A camera is not trusted. FFmpeg would follow its redirects to any host, and read its answer as a
playlist that names other addresses, keys and files. So every address gets the options of its kind,
and all redirects are decided by `follow`.
"""

from __future__ import annotations

from urllib.parse import SplitResult, urljoin, urlsplit

MAX_PIXELS = 50_000_000
"""Largest number of pixels of a frame that the service accepts. 16384x16384 would take a
gigabyte."""
MAX_REDIRECTS = 3
PORTS = {"http": 80, "https": 443, "rtsp": 554, "rtsps": 322}
UPGRADE = (("http", 80), ("https", 443))
"""The one redirect to another port that is followed: from HTTP to HTTPS, both at their own port."""
PICTURES = ("jpeg_pipe", "png_pipe", "webp_pipe", "bmp_pipe")
FORMATS = (
    "mpjpeg",
    "mjpeg",
    "h264",
    "hevc",
    "m4v",
    "mpegvideo",
    "obu",
    "ivf",
    "mov",
    "matroska",
    "avi",
    "mpegts",
    "mpeg",
    "flv",
    "live_flv",
    "asf",
    "ogg",
    "mxf",
    "nut",
    "dhav",
    "wav",
    *PICTURES,
)
"""FFmpeg's names of the formats of clips and of streams over HTTP. None of them names other
addresses: playlists (HLS, DASH, concat), SDP and patterns of file names are left out."""
RTSP, HTTP, FILE, DEVICE, UNKNOWN = "rtsp", "http", "file", "device", "unknown"
PROTOCOLS = {
    RTSP: ("tcp",),  # the stream comes over the same connection, TLS is done by `RtspGuard`
    HTTP: ("http", "https", "httpproxy", "tcp", "tls"),
    FILE: ("file",),
    DEVICE: ("file",),
    UNKNOWN: ("none",),
}
"""FFmpeg's names of the protocols of each kind of address."""


def limit(kind: str) -> dict[str, str]:
    """Return FFmpeg's options that limit the addresses and formats of a kind of source."""
    formats = {RTSP: ("rtsp",), DEVICE: ("v4l2",)}.get(kind, FORMATS)
    return {
        "protocol_whitelist": ",".join(PROTOCOLS[kind]),
        "format_whitelist": ",".join(formats),
        "max_redirects": "0",
    }


PICTURE_OPTIONS = limit(UNKNOWN) | {"format_whitelist": ",".join(PICTURES)}
"""Options for a picture in memory."""


def follow(url: str, location: str) -> str | None:
    """Return the URL to which a source may redirect, with the login of its own.

    Args:
        url: URL of the source.
        location: URL to which it redirects. It may be relative.

    Returns:
        None if it leads to another host, port or protocol.
    """
    try:
        source, target = urlsplit(url), _join(url, location)
        origins = tuple((parts.scheme, _port_of(parts)) for parts in (source, target))
        is_same_host = location.isprintable() and source.hostname == target.hostname
    except ValueError:  # no valid port or IPv6 address
        return None
    if not is_same_host or (origins[0] != origins[1] and origins != UPGRADE):
        return None
    netloc = (
        source.netloc.removesuffix(f":{PORTS['http']}") if origins == UPGRADE else source.netloc
    )
    return target._replace(netloc=netloc, fragment="").geturl()


def _join(url: str, location: str) -> SplitResult:
    """Return where a location leads. `urljoin` does not know all schemes."""
    scheme, _, address = url.partition("://")
    target = urlsplit(location)
    if target.scheme:
        return target
    return urlsplit(urljoin(f"http://{address}", location))._replace(scheme=scheme.lower())


def _port_of(parts: SplitResult) -> int | None:
    return parts.port or PORTS.get(parts.scheme)
