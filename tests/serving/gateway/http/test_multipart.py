import re

import pytest

from orchestrator.serving.gateway.http.multipart import FIELDS, FormError, parse, shown
from tests.serving.gateway.http.forms import BOUNDARY, CONTENT_TYPE, form, part


def named(filename: str) -> bytes:
    return part(b"x", f'form-data; name="picture"; filename="{filename}"')


def text(name: str, value: bytes) -> bytes:
    return part(value, f'form-data; name="{name}"')


def test_pictures_come_in_the_order_of_the_form() -> None:
    body = form(named("a.jpg"), text("picture", b"2\r\n"))
    parts = parse(body, CONTENT_TYPE, 4).pictures

    assert [one.filename for one in parts] == ["a.jpg", ""]
    assert [one.content for one in parts] == [b"x", b"2\r\n"]


def test_a_form_ends_at_its_closing_boundary() -> None:
    assert len(parse(form(named("a")) + b"and more", CONTENT_TYPE, 4).pictures) == 1


@pytest.mark.parametrize("name", FIELDS)
def test_pictures_may_be_in_fields_of_another_name(name: str) -> None:
    body = form(text(name, b"1"), text(name, b"2"))
    assert [picture.content for picture in parse(body, CONTENT_TYPE, 4).pictures] == [b"1", b"2"]


def test_pictures_in_fields_of_two_names_are_refused() -> None:
    message = "form: wanted all pictures in fields of one name, got image and file"
    with pytest.raises(FormError, match=message):
        parse(form(text("image", b"1"), text("file", b"2")), CONTENT_TYPE, 4)


def test_labels_are_no_pictures_and_may_be_anywhere() -> None:
    body = form(text("camera_id", "въезд".encode()), named("a") * 4, text("timestamp", b"now"))
    parsed = parse(body, CONTENT_TYPE, 4)
    assert len(parsed.pictures) == 4
    assert parsed.labels == {"camera_id": "въезд", "timestamp": "now"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "form: wanted its closing boundary at the end, got none", id="empty"),
        pytest.param(form(), "form: wanted 1 to 4 fields named picture, got none", id="no parts"),
        pytest.param(b"no form", "got a damaged one", id="no form"),
        pytest.param(part(b"cut off"), "wanted its closing boundary", id="cut off"),
        pytest.param(
            part(b"", 'form-data; name="photo"'),
            "wanted fields named picture, upload, image or file, got 'photo'",
            id="another field",
        ),
        pytest.param(form(text("camera_id", b"1")), "named picture, got none", id="a label alone"),
        pytest.param(
            text("camera_id", b"1") * 2, "wanted camera_id once, got it again", id="a label twice"
        ),
        pytest.param(
            form(text("camera_id", b"\xff")),
            "wanted camera_id as text in UTF-8, got other bytes",
            id="a label of bytes",
        ),
        pytest.param(part(b"", "form-data"), "got ''", id="no name"),
        pytest.param(part(b"", 'attachment; name="picture"'), "wanted fields", id="no form-data"),
        pytest.param(
            part(b"x", 'form-data; name="picture"\r\nContent-Transfer-Encoding: base64'),
            "wanted fields as they are, got one in 'base64'",
            id="encoded",
        ),
        pytest.param(
            part(b"x", f'form-data; name="picture"; filename="{"a" * 4096}"'),
            "Maximum header size exceeded",
            id="long header",
        ),
        pytest.param(
            part(b"x", 'form-data; name="picture"' + "\r\na: b" * 8),
            "Maximum header count exceeded",
            id="many headers",
        ),
        pytest.param(
            f"--{BOUNDARY} \r\n\r\n--{BOUNDARY}--".encode(),
            "wanted a line break behind each boundary, got a blank",
            id="blank behind the boundary",
        ),
        pytest.param(form(named("a") * 5), "wanted 1 to 4 pictures, got more", id="too many"),
        pytest.param(form(named("a") * 7), "wanted 1 to 4 pictures, got more", id="too many parts"),
    ],
)
def test_a_form_that_is_no_form_of_pictures_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(FormError, match=re.escape(message)):
        parse(body, CONTENT_TYPE, 4)


def test_as_many_parts_as_allowed_are_taken() -> None:
    assert len(parse(form(named("a") * 4), CONTENT_TYPE, 4).pictures) == 4


@pytest.mark.parametrize(
    ("content_type", "length"),
    [
        pytest.param("multipart/form-data", 0, id="no boundary"),
        pytest.param("multipart/form-data; boundary=", 0, id="empty"),
        pytest.param(f"multipart/form-data; boundary={'b' * 71}", 71, id="too long"),
        pytest.param("multipart/form-data; boundary=\u2014", 0, id="no Latin"),
    ],
)
def test_a_form_needs_a_boundary(content_type: str, length: int) -> None:
    message = f"content type: wanted a boundary of 1 to 70 characters, got {length}"
    with pytest.raises(FormError, match=message):
        parse(form(), content_type, 4)


def test_a_boundary_may_stand_in_quotes() -> None:
    content_type = f'multipart/form-data; boundary="{BOUNDARY}"'
    assert len(parse(form(named("a")), content_type, 4).pictures) == 1


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        pytest.param("", "", id="none"),
        pytest.param("машина.jpg", "машина.jpg", id="UTF-8"),
        pytest.param("a\x1b[31m\tb", "a?[31m?b", id="control characters"),
        pytest.param("a" * 101, "a" * 100, id="long"),
        pytest.param("C:\\\\cars\\\\1.jpg", "1.jpg", id="path of Windows"),
    ],
)
def test_a_file_name_is_fit_to_be_shown(filename: str, expected: str) -> None:
    (one,) = parse(form(named(filename)), CONTENT_TYPE, 4).pictures
    assert one.filename == expected


def test_a_file_name_that_is_no_utf_8_is_shown_in_part() -> None:
    body = form(part(b"x")).replace(b"a.jpg", b"a\xff.jpg")
    assert parse(body, CONTENT_TYPE, 4).pictures[0].filename == "a\ufffd.jpg"


def test_what_is_shown_has_no_direction_of_its_own() -> None:
    assert shown("a\u202egpj") == "a?gpj"
