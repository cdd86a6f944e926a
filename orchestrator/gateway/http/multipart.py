"""Parser for pictures in a `multipart/form-data` body. Pictures are private: never on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from orchestrator.errors import RequestError

FIELD = "picture"
LONGEST_NAME = 100  # characters of a file's name in the answer
LONGEST_BOUNDARY = 70  # RFC 2046, section 5.1.1
MOST_HEADERS = 8  # in each part; browsers and curl send two
LONGEST_HEADER = 4096  # bytes


class FormError(RequestError):
    """The body is no form with pictures."""

    reason = "form"


@dataclass(frozen=True)
class Part:
    """One field of a form.

    Attributes:
        filename: The sender's name of the file, safe to show; empty for none.
        content: The file's bytes.
    """

    filename: str
    content: bytes = field(repr=False)


def parse(body: bytes, content_type: str, most: int) -> list[Part]:
    """Return the pictures of a form, in its order.

    Args:
        body: The whole body.
        content_type: The header Content-Type, which names the boundary.
        most: Most parts that the form may have.

    Raises:
        FormError: The form is damaged, or has no part, too many, or a part that is no picture.
    """
    boundary = _boundary_of(content_type)
    _check_delimiters(body, b"--" + boundary, most)
    reader = _Reader()
    parser = MultipartParser(
        boundary,
        reader.callbacks(),
        max_header_count=MOST_HEADERS,
        max_header_size=LONGEST_HEADER,
    )
    try:
        parser.write(body)
    except FormParserError as error:
        raise FormError(f"form: wanted multipart/form-data, got a damaged one: {error}") from error
    if not reader.is_whole:
        raise FormError("form: wanted its closing boundary at the end, got none")
    if not reader.parts:
        raise FormError(f"form: wanted 1 to {most} fields named {FIELD}, got none")
    return reader.parts


def _boundary_of(content_type: str) -> bytes:
    try:
        boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
    except UnicodeEncodeError:
        boundary = b""
    if not 1 <= len(boundary) <= LONGEST_BOUNDARY:
        raise FormError(
            f"content type: wanted a boundary of 1 to {LONGEST_BOUNDARY} characters, "
            f"got {len(boundary)}"
        )
    return boundary


def _check_delimiters(body: bytes, delimiter: bytes, most: int) -> None:
    """Refuse bodies that the parser would read byte by byte: 32 MB would take it 8 seconds.

    RFC 2046 allows delimiters only around parts. It also allows blanks after a delimiter, but no
    client sends them.
    """
    count, start = 0, body.find(delimiter)
    while start >= 0:
        count += 1
        end = start + len(delimiter)
        if count > most + 1:
            raise FormError(f"form: wanted 1 to {most} fields, got more")
        if body.startswith((b" ", b"\t"), end):
            raise FormError("form: wanted a line break behind each boundary, got a blank")
        start = body.find(delimiter, end)


class _Reader:
    """Collects the parts that the parser finds."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.is_whole = False

    def callbacks(self) -> Any:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._take_header_name,
            "on_header_value": self._take_header_value,
            "on_headers_finished": self._check_field,
            "on_part_data": self._take_content,
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    def _begin(self) -> None:
        self._header = ""
        self._disposition = ""
        self._content = b""

    def _take_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header = data[start:end].decode("latin-1").lower()

    def _take_header_value(self, data: bytes, start: int, end: int) -> None:
        if self._header == "content-disposition":
            self._disposition = data[start:end].decode("latin-1")
        if self._header == "content-transfer-encoding":
            _check_encoding(data[start:end].decode("latin-1"))

    def _check_field(self) -> None:
        disposition, options = parse_options_header(self._disposition)
        name = options.get(b"name", b"").decode(errors="replace")
        if disposition != b"form-data" or name != FIELD:
            raise FormError(f"form: wanted fields named {FIELD}, got {shown(name)!r}")
        self._filename = shown(options.get(b"filename", b"").decode(errors="replace"))

    def _take_content(self, data: bytes, start: int, end: int) -> None:
        self._content += data[start:end]

    def _end(self) -> None:
        self.parts.append(Part(self._filename, self._content))

    def _finish(self) -> None:
        self.is_whole = True


def _check_encoding(encoding: str) -> None:
    if encoding.strip().lower() not in ("binary", "8bit", "7bit"):
        raise FormError(f"form: wanted pictures as they are, got them in {shown(encoding)!r}")


def shown(name: str) -> str:
    """Return a caller's name in a safe form: no control characters, not too long."""
    return "".join(char if char.isprintable() else "?" for char in name[:LONGEST_NAME])
