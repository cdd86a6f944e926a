"""Addresses of sources: for FFmpeg, and without secrets for messages."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path

from plate_cameras.camera_urls import NETWORK, encode_login, show
from plate_cameras.configuration import Camera
from plate_cameras.sources.network.policy import DEVICE, FILE, HTTP, RTSP, UNKNOWN, limit
from plate_cameras.sources.status import Limits

DEVICES = "/dev/"
TLS = ("rtsps", "https")
KINDS = {"rtsp": RTSP, "rtsps": RTSP, "http": HTTP, "https": HTTP}


@dataclass(frozen=True)
class Address:
    """How a source is opened.

    Attributes:
        url: Address for FFmpeg, secrets included.
        label: The address without user, password, path and query, which may all hold secrets.
        is_file: True if it is a file on this machine.
        has_tls: True if the connection is encrypted.
        format: FFmpeg's name of the input format; None lets FFmpeg find it.
    """

    url: str = field(repr=False)
    label: str
    is_file: bool = False
    has_tls: bool = False
    format: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of address, by which `policy` limits what it may open."""
        if self.is_file or self.format:
            return FILE if self.is_file else DEVICE
        return KINDS.get(self.url.partition("://")[0].lower(), UNKNOWN)

    def moved_to(self, url: str) -> Address:
        """Return the address of another URL at the same host."""
        return replace(self, url=url, label=show(url), has_tls=url.startswith(TLS))


def address_of(camera: Camera, limits: Limits) -> Address:
    """Return the address of a camera. Its certificate is verified unless the settings forbid it.

    FFmpeg verifies none by itself, and does not find the system's certificates everywhere. The
    options are also given without TLS: a host may send the client on to an encrypted address.
    """
    address = parse_address(camera.url, limits)
    if not camera.verify_tls or camera.url.partition("://")[0].lower() not in NETWORK:
        return address
    ca_file = camera.tls_ca_file or ssl.get_default_verify_paths().cafile
    options = {"tls_verify": "1", **({"ca_file": str(ca_file)} if ca_file else {})}
    return replace(address, options=address.options | options)


def parse_address(url: str, limits: Limits) -> Address:
    """Return the address of a camera's URL."""
    scheme, separator, path = url.partition("://")
    scheme = scheme.lower()
    if url.startswith(DEVICES):
        return Address(url, url, format="v4l2", options=limit(DEVICE))
    if not separator or scheme == "file":
        path = path if separator else url
        return Address(f"file:{path}", Path(path).name, is_file=True, options=limit(FILE))
    url = encode_login(url)
    return Address(url, show(url), has_tls=scheme in TLS, options=_options(scheme, limits))


def resolve_paths(camera: Camera) -> Camera:
    """Return a camera whose files have absolute paths: decoders run in another folder."""
    ca_file = camera.tls_ca_file
    return replace(
        camera,
        url=make_absolute(camera.url),
        tls_ca_file=ca_file.absolute() if ca_file else None,
    )


def make_absolute(url: str) -> str:
    """Return a camera's URL. A file's path becomes absolute."""
    is_path = "://" not in url and not url.startswith(DEVICES)
    return str(Path(url).absolute()) if is_path else url


def make_tls_context(address: Address) -> ssl.SSLContext:
    """Return the context in which Python verifies a certificate as FFmpeg's options say."""
    context = ssl.create_default_context(cafile=address.options.get("ca_file"))
    if address.options.get("tls_verify") != "1":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _options(scheme: str, limits: Limits) -> dict[str, str]:
    """Return FFmpeg's options. Its `timeout` is in microseconds.

    RTSP runs over TCP, because UDP loses packets; sound is not asked for.
    """
    kind, timeout_us = KINDS.get(scheme, UNKNOWN), str(int(limits.read_s * 1e6))
    options = {
        RTSP: {
            "rtsp_transport": "tcp",
            "timeout": timeout_us,
            "allowed_media_types": "video",
            "fflags": "nobuffer",
        },
        HTTP: {"timeout": timeout_us, "rw_timeout": timeout_us},
    }
    return options.get(kind, {}) | limit(kind)
