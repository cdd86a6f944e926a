"""Messages of cameras by the forms of their vendors, and messages that are none."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator

import pytest

from orchestrator.errors import PictureError, RequestError, SettingsError
from plate_cameras.configuration import Camera, Configuration
from plate_cameras.message_forms import FORMS, MessageForm
from plate_cameras.sources.sent import message_parts, message_reader
from plate_cameras.sources.sent.message_reader import CameraMessage, read_message, settle_time
from tests.plate_cameras.sources.sent.vendor_messages import (
    CROP,
    TIME_S,
    VENDORS,
    as_json,
    encode,
    form,
    hikvision,
    picture,
)

WHOLE = picture()


def read(kind_and_body: tuple[str, bytes], form_: MessageForm = FORMS["other"]) -> CameraMessage:
    """Return the content of a message that tells of a vehicle."""
    kind, body = kind_and_body
    message = read_message(body, kind, form_)
    assert message is not None
    return message


@pytest.fixture(autouse=True)
def _in_moscow() -> Iterator[None]:
    """Let this machine be where the cameras are: some of them send local times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Moscow")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("name", VENDORS)
def test_a_vendors_message_gives_the_whole_picture_the_cameras_reading_and_a_digest(
    name: str,
) -> None:
    def send(plate: str, content: bytes = WHOLE) -> CameraMessage:
        return read(VENDORS[name](plate, content), FORMS[name.partition("-")[0]])

    message = send("\u0430 123-BC 77")  # a Cyrillic letter
    assert message.picture == WHOLE
    assert (message.text, message.score, message.time_s) == ("A123BC77", 0.9, TIME_S)
    first = send("A123BC77").digest
    assert send("A123BC77").digest == first
    others = {send("A123BC78").digest, send("A123BC77", picture(91)).digest}
    assert len(others | {first}) == 3


@pytest.mark.parametrize("plate", ["unknown", "", "No plate", "N/A", "false", "A1" * 8])
def test_a_plate_that_the_camera_could_not_read_is_none(plate: str) -> None:
    message = read(hikvision(plate, WHOLE), FORMS["hikvision"])
    assert (message.text, message.score) == ("", 0.0)


def test_other_events_of_a_camera_are_left_out() -> None:
    kind, body = hikvision("", WHOLE, event="videoloss")
    assert read_message(body, kind, FORMS["hikvision"]) is None


def test_a_form_of_ones_own_names_the_paths() -> None:
    form_ = MessageForm(plate="a.b.0|c", score="p", time="at", picture="shot", only="kind=lpr")
    values = {"a": {"b": ["A123BC77"]}, "p": 55, "at": TIME_S * 1000, "shot": encode(CROP)}
    message = read(as_json(values | {"kind": "lpr", "larger": encode(WHOLE)}), form_)
    assert (message.picture, message.text) == (CROP, "A123BC77")
    assert (message.score, message.time_s) == (0.55, TIME_S)


@pytest.mark.parametrize("value", [True, False])
def test_a_form_may_ask_for_a_value_of_json_that_is_true_or_false(value: bool) -> None:
    kind, body = as_json({"isPlate": value, "shot": encode(WHOLE)})
    is_left_out = read_message(body, kind, MessageForm(only="isPlate=true")) is None
    assert is_left_out is not value


@pytest.mark.parametrize(
    ("score", "expected_score"), [("55%", 0.55), ("0,55", 0.55), ("1 %", 0.01), (1, 0.9)]
)
def test_a_score_may_be_a_percentage(score: object, expected_score: float) -> None:
    message = read(
        as_json({"p": "A1", "s": score, "shot": encode(WHOLE)}), MessageForm(plate="p", score="s")
    )
    assert message.score == pytest.approx(expected_score)


@pytest.mark.parametrize("score", ["", "-1", "nan", "inf", "much", "1e9"])
def test_a_score_that_says_nothing_is_the_usual_one(score: str) -> None:
    message = read(
        as_json({"p": "A1", "s": score, "shot": encode(WHOLE)}), MessageForm(plate="p", score="s")
    )
    assert message.score == 0.8


DEEP_XML = b"<a>" * 40 + b"</a>" * 40
LAUGHS = b'<!DOCTYPE a [<!ENTITY l "ha"><!ENTITY m "&l;&l;">]><a>&m;</a>'
OUTSIDE = b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'


def in_encoding(name: str) -> bytes:
    return f'<?xml version="1.0" encoding="{name}"?><a/>'.encode()


SHOT = ("shot", "image/jpeg", WHOLE)


def named_by(parameter: str) -> tuple[str, bytes]:
    """Return a form whose only part has a name in an encoding, as in RFC 2231."""
    kind, body = form(SHOT)
    return kind, body.replace(b'name="shot"; filename="shot"', parameter.encode())


@pytest.mark.parametrize(
    ("kind_and_body", "error"),
    [
        pytest.param(("", b""), "wanted a camera's message .* got nothing", id="empty"),
        pytest.param(as_json({"plate": "A"}), "wanted a picture .* got none", id="no picture"),
        pytest.param(("", b"{"), "wanted JSON", id="JSON"),
        pytest.param(("", b"[" * 4_000), "wanted JSON", id="deep JSON"),
        pytest.param(("", b'{"a":' + b"9" * 5000 + b"}"), "wanted JSON", id="long number"),
        pytest.param(("", b"<a><b></a>"), "wanted XML", id="XML"),
        pytest.param(("", in_encoding("gb2312")), "wanted XML", id="encoding of several bytes"),
        pytest.param(("", in_encoding("hex")), "wanted XML", id="encoding of no text"),
        pytest.param(("", in_encoding("punycode")), "wanted XML", id="encoding of names"),
        pytest.param(("", LAUGHS), "wanted XML without a document type", id="entities"),
        pytest.param(("", OUTSIDE), "wanted XML without a document type", id="other files"),
        pytest.param(("", DEEP_XML), "32 inside each other", id="deep XML"),
        pytest.param(("", b"<a>" + b"<b/>" * 6000 + b"</a>"), "at most 5000", id="many elements"),
        pytest.param(("", b"<a>" + b"b" * 600_000), "at most 524288 bytes", id="large XML"),
        pytest.param(("", b"\0" * 600_000), "got other bytes", id="bytes"),
        pytest.param(("", b"\0" * 100), "wanted a picture", id="few bytes"),
        pytest.param(form(*[SHOT] * 17), "at most 16 parts", id="parts"),
        pytest.param(("multipart/form-data", b"x"), "a boundary of 1 to 70", id="no boundary"),
        pytest.param((form(SHOT)[0], b"--other--"), "wanted parts", id="another boundary"),
        pytest.param((form(SHOT)[0], form(SHOT)[1][:-20]), "a closing one", id="cut off"),
        pytest.param((form(SHOT)[0], b"--boundary\r\nx\r\n--boundary--"), "headers", id="headers"),
        *(
            pytest.param(named_by(parameter), "headers with usual names", id=parameter[:30])
            for parameter in (
                "filename*=idna''%ff",
                "filename*=a\0b''c",
            )
        ),
        pytest.param(
            ("multipart/form-data; boundary*=punycode''%ff", b"x"), "usual names", id="boundary"
        ),
        pytest.param(as_json({"shot": "/9j/" + "A" * 300 + "!"}), "got none", id="base64"),
        pytest.param(("", WHOLE + b"\0" * 20_000_000), "at most 20000000 bytes", id="too large"),
    ],
)
def test_a_wrong_message_is_refused_with_what_was_wanted(
    kind_and_body: tuple[str, bytes], error: str
) -> None:
    with pytest.raises((RequestError, PictureError), match=error):
        read(kind_and_body, FORMS["axis"])


def test_values_may_be_of_any_length_and_hold_halves_of_characters() -> None:
    values = {"plate": "\udc00A123BC77", "at": "\ud800", "score": "9" * 5000}
    message = read(
        as_json(values | {"shot": encode(WHOLE)}),
        MessageForm(plate="plate", time="at", score="score"),
    )
    assert (message.text, message.score, message.time_s) == ("A123BC77", 0.8, None)


def test_base64_with_blanks_takes_little_memory() -> None:
    text = encode(WHOLE + b"\0" * 600_000)
    text_with_blanks = " ".join(text[at : at + 2] for at in range(4, len(text), 2))
    kind, body = as_json({"shot": f"{text[:4]} {text_with_blanks}"})
    tracemalloc.start()
    message = read((kind, body))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message.picture.startswith(WHOLE)
    assert peak < 5 * len(body)


@pytest.mark.parametrize("size", [len(WHOLE), len(WHOLE) + 1, len(WHOLE) + 2, 900_000])
@pytest.mark.parametrize("how", ["", "lines", "data URL", "for URLs", "unpadded"])
def test_a_field_of_a_form_may_hold_the_picture_in_base64(size: int, how: str) -> None:
    text = encode(WHOLE.ljust(size, b"\0"))
    forms = {
        "": text,
        "lines": "\r\n".join([text[:76], text[76:]]),
        "data URL": f"data:image/jpeg;base64,{text}",
        "for URLs": text.replace("+", "-").replace("/", "_"),
        "unpadded": text.rstrip("="),
    }
    fields = ("plate", "text/plain", b"A123BC77"), ("shot", "text/plain", forms[how].encode())
    message = read(form(*fields), MessageForm(plate="plate", picture="shot"))
    assert (len(message.picture), message.text) == (size, "A123BC77")


def test_of_pictures_with_one_name_the_largest_counts() -> None:
    parts = [("shot", "image/jpeg", content) for content in (CROP, WHOLE, CROP)]
    assert read(form(*parts)).picture == WHOLE


def test_a_field_with_an_equals_sign_keeps_its_name() -> None:
    fields = ("url", "", b"/a?b=c"), ("plate", "", b"A123BC77"), SHOT
    assert read(form(*fields), MessageForm(plate="plate", only="url=/a?b=c")).text == "A123BC77"


@pytest.mark.parametrize(
    "document",
    [
        '<e><plate xmlns="urn:x">A123BC77</plate></e>',
        '<e><plate score="97">A123BC77<line>1</line></plate></e>',
        "<e><plate><![CDATA[A123BC77]]></plate></e>",
        '{"plate": "A123BC77"}',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_text_of_an_element_counts_whatever_its_attributes_and_encoding(
    document: str, encoding: str
) -> None:
    message = read(form(("event", "", document.encode(encoding)), SHOT), MessageForm(plate="plate"))
    assert message.text == "A123BC77"


def read_time(time_: object) -> float | None:
    return read(as_json({"at": time_, "shot": encode(WHOLE)}), MessageForm(time="at")).time_s


@pytest.mark.parametrize(
    ("time_", "time_s"),
    [
        ("2026-11-27T07:15:30Z", TIME_S),
        ("2026-11-27t07:15:30z", TIME_S),
        ("2026-11-27T07:15:30.5Z", TIME_S + 0.5),
        ("2026-11-27T10:15:30.25+03:00", TIME_S + 0.25),
        ("2026-11-27T02:15:30-0500", TIME_S),
        ("2026-11-27T10:15:30+03", TIME_S),
        ("2026-11-27 10:15:30", TIME_S),
        ("2026/11/27 10:15:30.1234567", TIME_S + 0.123456),
        ("20261127101530", TIME_S),
        ("20261127101530250", TIME_S + 0.25),
        ("20261127T071530Z", TIME_S),
        ("20261127 101530250+0300", TIME_S + 0.25),
        (TIME_S, TIME_S),
        (TIME_S * 1000, TIME_S),
        (f"{TIME_S * 1e6:.0f}", TIME_S),
        ("2026-11-27", None),
        ("10:15:30", None),
        ("2026-11-27T10:15:60Z", None),
        ("2026-13-27T10:15:30Z", None),
        ("2026-11-27T10:15:30+99:00", None),
        ("0001-01-01T00:00:00", None),
        ("yesterday", None),
    ],
)
def test_a_time_is_understood_as_cameras_write_it(time_: object, time_s: float | None) -> None:
    assert read_time(time_) == (time_s and pytest.approx(time_s))


OCTOBER_25_S = 1792886400.0
"""00:00 UTC of October 25, 2026: an hour later, the clocks of Berlin go back from 3:00 to 2:00."""


@pytest.mark.parametrize(
    ("local", "after_s", "time_s"),
    [
        pytest.param("2026-10-25 02:30:00", 1800, 1800, id="first time"),
        pytest.param("2026-10-25 02:30:00", 5400, 5400, id="second time"),
        pytest.param("2026-10-25 02:30:00", 86000, 5400, id="a day later"),
        pytest.param("2026-10-25 01:30:00", 5400, -1800, id="before it"),
    ],
)
def test_of_an_hour_that_comes_twice_the_one_that_is_over_counts(
    monkeypatch: pytest.MonkeyPatch, local: str, after_s: float, time_s: float
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    monkeypatch.setattr(message_reader, "unix_s", lambda: OCTOBER_25_S + after_s)
    assert read_time(local) == OCTOBER_25_S + time_s


def test_names_of_parts_may_have_any_letters() -> None:
    assert read(form(("фото", "image/jpeg", WHOLE))).picture == WHOLE


@pytest.mark.parametrize("item", ['"' + "x" * 201 + '"', "0", "[]", "{}"])
def test_json_of_many_values_is_refused_before_it_takes_memory(item: str) -> None:
    items = f"[{','.join([item] * (message_parts.MAX_VALUES + 1))}]"
    with pytest.raises(message_parts.MessageError, match="wanted at most 5000 values of JSON"):
        read_message(items.encode(), "", FORMS["other"])


@pytest.mark.parametrize(
    ("camera_s", "time_and_trust"),
    [
        pytest.param(None, (1e9, False), id="no time"),
        pytest.param(1e9 - 3600, (1e9 - 3600, True), id="an hour late"),
        pytest.param(1e9 + 30, (1e9, True), id="a clock ahead"),
        pytest.param(1e9 + 3600, (1e9, False), id="a clock in another zone"),
        pytest.param(0.0, (1e9, False), id="a clock that was never set"),
    ],
)
def test_a_cameras_time_counts_if_it_may_be_true(
    camera_s: float | None, time_and_trust: tuple[float, bool]
) -> None:
    assert settle_time(camera_s, 1e9) == time_and_trust


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"url": "push:acme"}, "wanted one of push:hikvision, push:dahua"),
        ({"url": "push:other"}, "message: wanted the paths"),
        ({"url": "rtsp://10.0.0.5", "message": MessageForm("plate")}, "wanted a url that begins"),
        ({"url": "folder:"}, "wanted folder: and a path"),
        ({"url": "folder:/srv", "read_files": "keep"}, "wanted delete or move, got 'keep'"),
    ],
)
def test_wrong_settings_of_cameras_that_send_are_told(
    settings: dict[str, object], error: str
) -> None:
    with pytest.raises(SettingsError, match=error):
        Camera("gate", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("other", ["/srv/ftp", "/srv/ftp/", "/srv/ftp/gate/a", "/srv/x/../ftp/b"])
def test_two_cameras_have_no_folder_in_common(other: str) -> None:
    cameras = [Camera("gate", "folder:/srv/ftp"), Camera("alley", f"folder:{other}")]
    beside = Camera("yard", "folder:/srv/ftp-yard")
    assert Configuration((cameras[0], beside))
    with pytest.raises(SettingsError, match="wanted a folder of its own, got one inside that of"):
        Configuration((beside, *cameras))
