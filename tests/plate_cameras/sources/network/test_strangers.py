"""Hostile cameras: a decoder connects to no other address, whatever they answer."""

import socket
import threading
import time

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.sources.capture import Capture
from plate_cameras.sources.network.addresses import address_of
from plate_cameras.sources.network.failures import SourceError
from plate_cameras.sources.snapshots import SnapshotCapture
from plate_cameras.sources.status import Limits
from tests.plate_cameras.clips import encode, street
from tests.plate_cameras.sources.hostile_cameras import (
    SDP,
    Answer,
    HostileCamera,
    describe,
    hostile,
    http,
    rtsp,
)

LIMITS = Limits(open_s=2.0, read_s=1.0)
CLIP = encode(street(5))
AWAY = "http://BYSTANDER/relay/0?turn=on"
HLS = "application/vnd.apple.mpegurl"
HEAD = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n"
KEY = f'#EXT-X-KEY:METHOD=AES-128,URI="{AWAY}"\n#EXTINF:9,\nhttp://CAMERA/a.ts\n'
DASH = (
    '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"'
    ' mediaPresentationDuration="PT10S"><Period><AdaptationSet mimeType="video/mp4">'
    f'<Representation id="1" bandwidth="1"><BaseURL>{AWAY}</BaseURL></Representation>'
    "</AdaptationSet></Period></MPD>"
)


def open_(url: str) -> str:
    """Open a source and read some packets; return the error, empty if there is none."""
    try:
        with Capture.open(address_of(Camera("gate", url), LIMITS), LIMITS) as capture:
            next(capture.packets(), None)
    except SourceError as error:
        return str(error)
    return ""


def visit(answer: Answer, path: str = "/video", scheme: str = "http") -> tuple[str, HostileCamera]:
    """Open a hostile camera, check that its bystander got no connection, and return the error."""
    with hostile(answer) as (camera, bystander):
        message = open_(f"{scheme}://admin:s3cret@127.0.0.1:{camera.port}{path}")
        assert (bystander.connections, bystander.requests) == (0, [])
        assert "s3cret" not in message
        return message, camera


@pytest.mark.parametrize(
    "location",
    [
        AWAY, "//BYSTANDER/relay", "https://BYSTANDER/", "rtsp://BYSTANDER/", "file:///etc/passwd",
        "tcp://BYSTANDER", "concat:http://BYSTANDER/|x", "crypto+" + AWAY,
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [301, 307])
def test_no_redirect_leads_to_another_port_or_protocol(status: int, location: str) -> None:
    message, _ = visit(http("", "", f"{status} Found", f"Location: {location}"))
    assert "another host, port or protocol. If you trust it, write that address" in message


def move(**places: Answer | str) -> Answer:
    """Answer by the name of the path: with a redirect, or as given."""

    def answer(camera: HostileCamera, connection: socket.socket, request: bytes) -> None:
        place = places[request.split(b" ")[1].decode().strip("/")]
        redirect = http("", "", "302 Found", f"Location: {place}")
        (redirect if isinstance(place, str) else place)(camera, connection, request)

    return answer


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(move(video="/next", next=AWAY), "host, port or protocol", id="elsewhere"),
        pytest.param(move(video="/next", next="/video"), "redirects again and again", id="circle"),
        pytest.param(move(video="/next", next=http(CLIP, "video/mp4")), "", id="a clip"),
    ],
)
def test_redirects_at_the_same_host_are_followed(answer: Answer, error: str) -> None:
    message, camera = visit(answer)
    assert error in message
    assert bool(error) == bool(message)
    assert any(b"GET /next" in request for request in camera.requests)


def test_what_a_page_refreshes_to_is_not_opened() -> None:
    page = f'<meta http-equiv="refresh" content="0;{AWAY}">'
    visit(http(page, "text/html", "200 OK", f"Refresh: 0;url={AWAY}"))


@pytest.mark.parametrize("path", ["/video", "/video.mjpeg", "/picture.jpg", "/live.m3u8", "/a.mpd"])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(f"{HEAD}#EXTINF:9,\n{AWAY}.ts\n#EXT-X-ENDLIST\n", HLS, id="HLS segment"),
        pytest.param(f"{HEAD}{KEY}#EXT-X-ENDLIST\n", HLS, id="HLS key"),
        pytest.param(f'{HEAD}#EXT-X-MAP:URI="{AWAY}.mp4"\n#EXTINF:9,\na.mp4\n', HLS, id="HLS map"),
        pytest.param(f"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{AWAY}.m3u8\n", HLS, id="HLS list"),
        pytest.param(f"{HEAD}#EXTINF:9,\n{AWAY}.ts\n", "video/x-motion-jpeg", id="HLS as MJPEG"),
        pytest.param(f"{HEAD}#EXTINF:9,\n{AWAY}.ts\n", "image/jpeg", id="HLS as JPEG"),
        pytest.param(f"{HEAD}#EXTINF:9,\nfile:///etc/passwd\n", HLS, id="HLS file"),
        pytest.param(f"{HEAD}#EXTINF:9,\ndata:text/plain,x\n", HLS, id="HLS data"),
        pytest.param(f"{HEAD}#EXTINF:9,\ncrypto+{AWAY}\n", HLS, id="HLS crypto"),
        pytest.param(DASH, "application/dash+xml", id="DASH"),
        pytest.param(f"ffconcat version 1.0\nfile {AWAY}\n", "", id="concat"),
        pytest.param(f"[playlist]\nFile1={AWAY}\n", "audio/x-scpls", id="pls"),
        pytest.param(
            SDP.replace("m=video 0", "m=video BYSTANDER").replace("127.0.0.1:", ""),
            "application/sdp",
            id="SDP",
        ),
        pytest.param(f"[Reference]\nRef1={AWAY}\n", "video/x-ms-asf", id="ASX"),
    ],
)
def test_no_list_names_other_addresses(path: str, body: str, kind: str) -> None:
    _, camera = visit(http(body, kind), path)
    assert all(request.startswith(f"GET {path} ".encode()) for request in camera.requests)


@pytest.mark.parametrize("scheme", ["http", "rtsp"])
def test_formats_and_protocols_of_a_list_are_no_formats_of_cameras(scheme: str) -> None:
    options = address_of(Camera("gate", f"{scheme}://cam/"), LIMITS).options
    assert not {"hls", "dash", "concat", "sdp", "image2"} & {
        *options["format_whitelist"].split(",")
    }
    assert not {"file", "udp", "rtp", "data", "crypto", "concat", "subfile", "unix", "pipe"} & {
        *options["protocol_whitelist"].split(",")
    }


SETUP = "RTSP/1.0 200 OK\r\nCSEQ\r\nSession: 1\r\nTransport: "
MOVED = "RTSP/1.0 302 Moved\r\nCSEQ\r\nLocation: rtsp://BYSTANDER/relay\r\n\r\n"


@pytest.mark.parametrize("method", ["OPTIONS", "DESCRIBE", "SETUP", "PLAY"])
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(MOVED, id="302"),
        *(
            pytest.param(MOVED.replace("302", str(status)), id=f"{status}")
            for status in (300, 301, 303, 307, 308)
        ),
        pytest.param([*MOVED], id="byte by byte"),
        pytest.param(MOVED.replace("\r", ""), id="without carriage returns"),
        pytest.param(MOVED.replace("302", "3\r02").replace("RTSP/", "RT\rSP/"), id="with more"),
        pytest.param(MOVED.replace(" 302", " \t +0302"), id="another number"),
        pytest.param(MOVED.replace("1.0", "anything"), id="another version"),
        pytest.param("$\0\0\5abcde" + MOVED, id="after a packet"),
        pytest.param(
            "OPTIONS * RTSP/1.0\r\nCSeq: 9\r\n\r\n" + MOVED, id="after a request of its own"
        ),
        pytest.param(MOVED.replace("rtsp:", "http:"), id="to HTTP"),
        pytest.param(MOVED.replace("Location", "lOCATION"), id="in other letters"),
        pytest.param(MOVED.replace("rtsp://BYSTANDER/relay", ""), id="to nowhere"),
    ],
)
def test_no_redirect_of_an_rtsp_camera_leads_elsewhere(method: str, reply: str | list[str]) -> None:
    message, camera = visit(rtsp(**{method: reply}), scheme="rtsp")
    assert "cannot open" in message
    assert len(camera.requests) <= 20


def test_a_redirect_of_an_rtsp_camera_is_told() -> None:
    message, _ = visit(rtsp(DESCRIBE=MOVED), scheme="rtsp")
    assert "it redirects to rtsp://127.0.0.1:" in message
    assert "another host, port or protocol" in message


def test_an_rtsp_camera_may_redirect_to_itself() -> None:
    redirect = "RTSP/1.0 302 Moved\r\nCSEQ\r\nLocation: rtsp://CAMERA/moved\r\n\r\n"
    message, camera = visit(rtsp(DESCRIBE=redirect), scheme="rtsp")
    assert "it redirects again and again" in message
    requests = [request for request in camera.requests if b"/moved" in request]
    assert sum(request.startswith(b"DESCRIBE") for request in requests) == 3


@pytest.mark.parametrize(
    "replies",
    [
        {"DESCRIBE": describe(SDP.replace("track1", "rtsp://BYSTANDER/x"))},
        {"DESCRIBE": describe(SDP.replace("0.0.0.0", "239.1.1.1/16"))},
        {"SETUP": f"{SETUP}RTP/AVP;unicast;server_port=6000-6001;source=127.0.0.1\r\n\r\n"},
        {"SETUP": f"{SETUP}RTP/AVP;multicast;destination=239.1.1.1;port=5000-5001;ttl=16\r\n\r\n"},
    ],
)  # fmt: skip
def test_no_description_leads_an_rtsp_stream_elsewhere(replies: dict[str, str]) -> None:
    message, _ = visit(rtsp(**replies), scheme="rtsp")
    assert "cannot" in message


def test_a_description_without_end_is_given_up() -> None:
    def answer(camera: HostileCamera, connection: object, request: bytes) -> None:
        rtsp()(camera, connection, request)  # type: ignore[arg-type]
        if request.startswith(b"DESCRIBE"):
            for _ in range(100):
                connection.sendall(b"x" * 65536)  # type: ignore[attr-defined]

    head = "RTSP/1.0 200 OK\r\nCSEQ\r\nContent-Length: 2000000000\r\n\r\n"
    message, _ = visit(rtsp(DESCRIBE=head), scheme="rtsp")
    assert "cannot open" in message
    message, _ = visit(answer, scheme="rtsp")
    assert "cannot open" in message


def test_a_guard_leaves_no_thread(tmp_path: object) -> None:
    visit(rtsp(DESCRIBE=MOVED), scheme="rtsp")
    for thread in threading.enumerate():
        if thread.name == "rtsp guard":
            thread.join(5)
    assert "rtsp guard" not in {thread.name for thread in threading.enumerate()}


def moved_to(location: str) -> Answer:
    return http("", "", "302 Found", f"Location: {location}")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        *(
            pytest.param(moved_to(location), "another host, port or protocol", id=location)
            for location in (AWAY, "file:///etc/passwd", "https://BYSTANDER/")
        ),
        pytest.param(http(f"{HEAD}#EXTINF:9,\n{AWAY}.ts\n", "image/jpeg"), "cannot", id="HLS"),
        pytest.param(http(DASH, "image/jpeg"), "cannot", id="DASH"),
        pytest.param(
            http(f"ffconcat version 1.0\nfile {AWAY}\n", "image/jpeg"), "cannot", id="concat"
        ),
        pytest.param(http(SDP, "image/jpeg"), "cannot", id="SDP"),
    ],
)
def test_no_snapshot_is_requested_elsewhere_or_a_list(answer: Answer, error: str) -> None:
    with hostile(answer) as (camera, bystander):
        address = address_of(Camera("gate", f"http://a:s3cret@127.0.0.1:{camera.port}/"), LIMITS)
        capture = SnapshotCapture(address, 5, 1.0)
        with capture, pytest.raises(SourceError, match=error) as failure:
            next(capture.packets())
        assert bystander.connections == 0
        assert "s3cret" not in str(failure.value)


def test_a_redirect_in_many_pieces_costs_little() -> None:
    reply = ["RTSP/1.0 200 OK\r\n", *["x: 1\r\n"] * 30_000, *MOVED]
    started_s = time.process_time()
    visit(rtsp(DESCRIBE=reply), scheme="rtsp")
    assert time.process_time() - started_s < 10
