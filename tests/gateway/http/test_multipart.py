import pytest

from orchestrator.gateway.http.multipart import FormError, parse, shown
from tests.gateway.http.forms import BOUNDARY, CONTENT_TYPE, form, part


def named(filename: str) -> bytes:
    return part(b"x", f'form-data; name="picture"; filename="{filename}"')


def test_pictures_come_in_the_order_of_the_form() -> None:
    parts = parse(
        form(named("a.jpg"), part(b"2\r\n", 'form-data; name="picture"')), CONTENT_TYPE, 4
    )

    assert [one.filename for one in parts] == ["a.jpg", ""]
    assert [one.content for one in parts] == [b"x", b"2\r\n"]


def test_a_form_ends_at_its_closing_boundary() -> None:
    assert len(parse(form(named("a")) + b"and more", CONTENT_TYPE, 4)) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "form: wanted its closing boundary at the end, got none", id="empty"),
        pytest.param(form(), "form: wanted 1 to 4 fields named picture, got none", id="no parts"),
        pytest.param(b"no form", "got a damaged one", id="no form"),
        pytest.param(part(b"cut off"), "wanted its closing boundary", id="cut off"),
        pytest.param(
            part(b"", 'form-data; name="file"'),
            "wanted fields named picture, got 'file'",
            id="another field",
        ),
        pytest.param(part(b"", "form-data"), "got ''", id="no name"),
        pytest.param(part(b"", 'attachment; name="picture"'), "wanted fields", id="no form-data"),
        pytest.param(
            part(b"x", 'form-data; name="picture"\r\nContent-Transfer-Encoding: base64'),
            "wanted pictures as they are, got them in 'base64'",
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
        pytest.param(form(named("a") * 5), "wanted 1 to 4 fields, got more", id="too many parts"),
    ],
)
def test_a_form_that_is_no_form_of_pictures_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(FormError, match=message):
        parse(body, CONTENT_TYPE, 4)


def test_as_many_parts_as_allowed_are_taken() -> None:
    assert len(parse(form(named("a") * 4), CONTENT_TYPE, 4)) == 4


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
    assert len(parse(form(named("a")), content_type, 4)) == 1


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
    (one,) = parse(form(named(filename)), CONTENT_TYPE, 4)
    assert one.filename == expected


def test_a_file_name_that_is_no_utf_8_is_shown_in_part() -> None:
    body = form(part(b"x")).replace(b"a.jpg", b"a\xff.jpg")
    assert parse(body, CONTENT_TYPE, 4)[0].filename == "a\ufffd.jpg"


def test_what_is_shown_has_no_direction_of_its_own() -> None:
    assert shown("a\u202egpj") == "a?gpj"
