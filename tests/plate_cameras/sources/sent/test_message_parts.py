"""Parts of cameras' messages: pictures in base64, names that come twice, encodings."""

from __future__ import annotations

import pytest

from plate_cameras.message_forms import MessageForm
from tests.plate_cameras.sources.sent.vendor_messages import (
    CROP,
    as_json,
    encode,
    form,
    picture,
    read,
)

WHOLE = picture()
SHOT = ("shot", "image/jpeg", WHOLE)


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


def test_items_of_a_message_that_is_a_list_have_numbers() -> None:
    message = read(as_json([{"plate": "A123BC77", "shot": encode(WHOLE)}]), MessageForm("0.plate"))
    assert (message.picture, message.text) == (WHOLE, "A123BC77")


def test_text_round_the_parts_is_left_out() -> None:
    kind, body = form(SHOT)
    assert read((kind, b"for readers without MIME\r\n" + body + b"\r\n.")).picture == WHOLE


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


@pytest.mark.parametrize(
    "document",
    ['<?xml version="1.0"?><e><plate>A123BC77</plate></e>', '{"plate": "A123BC77"}'],
)
@pytest.mark.parametrize(
    ("before", "after"), [(b"\r\n", b""), (b"\xef\xbb\xbf\n", b""), (b"", b"\0"), (b" ", b"\r\n\0")]
)
def test_a_document_may_have_blanks_and_null_bytes_round_it(
    document: str, before: bytes, after: bytes
) -> None:
    part = ("event", "", before + document.encode() + after)
    assert read(form(part, SHOT), MessageForm(plate="plate")).text == "A123BC77"


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r"])
def test_a_field_in_another_encoding_gives_no_part_of_a_plate(encoding: str) -> None:
    plate = "\u0410123\u0412\u042177".encode(encoding)
    assert read(form(("plate", "", plate), SHOT), MessageForm(plate="plate")).text == ""
