"""Forms with pictures and labels, as browsers and curl send them."""

import re

import pytest

from orchestrator.serving.gateway.http.multipart import FIELDS, FormError, parse
from tests.serving.gateway.http.forms import BOUNDARY, CONTENT_TYPE, form, part


def make_part(more: str) -> bytes:
    return part(b"x", f'form-data; name="picture"{more}')


def make_named_part(filename: str) -> bytes:
    return make_part(f'; filename="{filename}"')


def text(name: str, value: bytes) -> bytes:
    return part(value, f'form-data; name="{name}"')


@pytest.mark.parametrize("name", FIELDS)
def test_pictures_come_in_order_from_fields_of_any_of_these_names(
    name: str,
) -> None:
    body = form(text(name, b"2\r\n"), text(name, b"1")) + b"and more behind the closing boundary"
    pictures = parse(body, f'multipart/form-data; boundary="{BOUNDARY}"', 4).pictures
    assert [picture.content for picture in pictures] == [b"2\r\n", b"1"]


def test_labels_are_no_pictures_and_may_be_anywhere() -> None:
    body = form(
        text("camera_id", "въезд".encode()), make_named_part("a") * 4, text("timestamp", b"now")
    )
    parsed_form = parse(body, CONTENT_TYPE, 4)
    assert len(parsed_form.pictures) == 4
    assert parsed_form.labels == {"camera_id": "въезд", "timestamp": "now"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "form: wanted its closing boundary at the end, got none"),
        (form(), "form: wanted 1 to 4 fields named picture, got none"),
        (b"no form", "got a damaged one"),
        (part(b"cut off"), "wanted its closing boundary"),
        (
            text("max_plates", b"3"),
            "wanted fields named picture, upload, image or file, and the labels camera_id and "
            "timestamp, got 'max_plates'; parameters go into the query",
        ),
        (form(text("image", b""), text("file", b"")), "fields of one name, got image and file"),
        (form(text("camera_id", b"1")), "named picture, got none"),
        (text("camera_id", b"1") * 2, "wanted camera_id once, got it again"),
        (form(text("camera_id", b"\xff")), "wanted camera_id as text in UTF-8, got other bytes"),
        (part(b"", "form-data"), "got ''"),
        (part(b"", 'attachment; name="picture"'), "wanted fields"),
        (make_part("\r\nContent-Transfer-Encoding: base64"), "as they are, got one in 'base64'"),
        (make_part(f'; filename="{"a" * 4096}"'), "Maximum header size exceeded"),
        (make_part("\r\na: b" * 8), "Maximum header count exceeded"),
        (
            f"--{BOUNDARY} \r\n\r\n--{BOUNDARY}--".encode(),
            "a line break behind each boundary, got",
        ),
        (form(make_named_part("a") * 5), "wanted 1 to 4 pictures, got more"),
        (form(make_named_part("a") * 7), "wanted 1 to 4 pictures, got more"),
    ],
)
def test_a_form_that_is_no_form_of_pictures_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(FormError, match=re.escape(message)):
        parse(body, CONTENT_TYPE, 4)


@pytest.mark.parametrize(
    ("boundary", "length"),
    [("", 0), ("; boundary=", 0), (f"; boundary={'b' * 71}", 71), ("; boundary=\u2014", 0)],
)
def test_a_form_needs_a_boundary(boundary: str, length: int) -> None:
    message = f"content type: wanted a boundary of 1 to 70 characters, got {length}"
    with pytest.raises(FormError, match=message):
        parse(form(), f"multipart/form-data{boundary}", 4)


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("", ""),
        ("машина.jpg", "машина.jpg"),
        ("a\x1b[31m\tb", "a?[31m?b"),
        ("a" * 101, "a" * 100),
        ("C:\\\\cars\\\\1.jpg", "1.jpg"),
        ("a\udcff.jpg", "a\ufffd.jpg"),  # a byte that is no UTF-8
        ("a\u202egpj", "a?gpj"),  # a direction of its own
    ],
)
def test_a_file_name_is_fit_to_be_shown(filename: str, expected: str) -> None:
    (picture,) = parse(form(make_named_part(filename)), CONTENT_TYPE, 4).pictures
    assert picture.filename == expected
