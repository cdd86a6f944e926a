"""Messages of cameras by the forms of their vendors, and messages that are none."""

from __future__ import annotations

import tracemalloc

import pytest

from orchestrator.errors import PictureError, RequestError, SettingsError
from plate_cameras.configuration import Camera, Configuration
from plate_cameras.message_forms import FORMS, MessageForm
from plate_cameras.sources.sent import message_parts
from plate_cameras.sources.sent.message_reader import CameraMessage, read_message
from tests.plate_cameras.sources.sent.vendor_messages import (
    CROP,
    TIME_S,
    VENDORS,
    as_json,
    encode,
    form,
    hikvision,
    picture,
    read,
)

WHOLE = picture()


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


@pytest.mark.parametrize(
    "plate",
    [
        "A123BC77RUS",
        "\u0430123\u0432\u0441 77 RUS",
        "A 123 BC RUS 77",
        "A123BC|77|rus",
        "A123BC.77-\u0440\u0443\u0441",
    ],
)
def test_the_country_is_no_part_of_a_cameras_reading(plate: str) -> None:
    assert read(hikvision(plate, WHOLE), FORMS["hikvision"]).text == "A123BC77"


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


def test_names_of_parts_may_have_any_letters() -> None:
    assert read(form(("фото", "image/jpeg", WHOLE))).picture == WHOLE


@pytest.mark.parametrize("item", ['"' + "x" * 201 + '"', "0", "[]", "{}"])
def test_json_of_many_values_is_refused_before_it_takes_memory(item: str) -> None:
    items = f"[{','.join([item] * (message_parts.MAX_VALUES + 1))}]"
    with pytest.raises(message_parts.MessageError, match="wanted at most 5000 values of JSON"):
        read_message(items.encode(), "", FORMS["other"])


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
