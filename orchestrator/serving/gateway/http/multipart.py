"""Parser for forms with pictures, `multipart/form-data`. Pictures are private: never on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from orchestrator.errors import RequestError
from orchestrator.serving.gateway.http.labels import LABELS

FIELDS = ("picture", "upload", "image", "file")
"""Names of a picture's field: ours, and those of other services for plates."""
FIELDS_TEXT = f"{', '.join(FIELDS[:-1])} or {FIELDS[-1]}"
LABELS_TEXT = " and ".join(LABELS)
MAX_NAME_CHARACTERS = 100  # characters of a file's name in the answer
MAX_BOUNDARY_CHARACTERS = 70  # RFC 2046, section 5.1.1
MAX_HEADERS = 8  # in each part; browsers and curl send two
MAX_HEADER_BYTES = 4096  # bytes
MAX_OTHERS = 64  # further fields of a form whose other fields are ignored


class FormError(RequestError):
    """The body is no form with pictures."""

    reason = "form"


@dataclass(frozen=True)
class Part:
    """One picture of a form.

    Attributes:
        filename: The sender's name of the file, safe to show; empty for none.
        content: The file's bytes.
    """

    filename: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Form:
    """The fields of a form.

    Attributes:
        pictures: In the form's order.
        labels: Texts of the caller's labels, by their names.
    """

    pictures: tuple[Part, ...]
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FormFields:
    """The fields that a form may have.

    Attributes:
        pictures: Names of a picture's field.
        labels: Names of the texts that are kept.
        is_strict: A field of another name, or a second label of one name, is an error. Otherwise
            the former is ignored, and the last label is kept.
    """

    pictures: tuple[str, ...] = FIELDS
    labels: tuple[str, ...] = LABELS
    is_strict: bool = True

    @property
    def max_texts(self) -> int:
        """Largest number of fields without a picture."""
        return len(self.labels) if self.is_strict else MAX_OTHERS


OURS = FormFields()
"""The fields of `/v1/recognize` and `/v1/read`."""


def parse(body: bytes, content_type: str, max_pictures: int, fields: FormFields = OURS) -> Form:
    """Return the pictures and labels of a form.

    Args:
        body: The whole body.
        content_type: The header Content-Type, which names the boundary.
        max_pictures: Largest number of pictures that the form may have.
        fields: The fields that it may have.

    Raises:
        FormError: The form is damaged, or has no picture, too many, pictures in fields of several
            names, or an unknown field.
    """
    boundary = _boundary_of(content_type)
    _check_delimiters(body, b"--" + boundary, max_pictures, max_pictures + fields.max_texts)
    reader = _Reader(max_pictures, fields)
    parser = MultipartParser(
        boundary,
        reader.callbacks(),
        max_header_count=MAX_HEADERS,
        max_header_size=MAX_HEADER_BYTES,
    )
    try:
        parser.write(body)
    except FormParserError as error:
        raise FormError(f"form: wanted multipart/form-data, got a damaged one: {error}") from error
    if not reader.is_whole:
        raise FormError("form: wanted its closing boundary at the end, got none")
    if not reader.pictures:
        number = f"1 to {max_pictures} fields" if max_pictures > 1 else "a field"
        raise FormError(f"form: wanted {number} named {fields.pictures[0]}, got none")
    return Form(tuple(reader.pictures), reader.labels)


def _boundary_of(content_type: str) -> bytes:
    try:
        boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
    except UnicodeEncodeError:
        boundary = b""
    if not 1 <= len(boundary) <= MAX_BOUNDARY_CHARACTERS:
        raise FormError(
            f"content type: wanted a boundary of 1 to {MAX_BOUNDARY_CHARACTERS} characters, "
            f"got {len(boundary)}"
        )
    return boundary


def _check_delimiters(body: bytes, delimiter: bytes, max_pictures: int, max_parts: int) -> None:
    """Refuse bodies that the parser would read byte by byte: 32 MB would take it 8 seconds.

    RFC 2046 allows delimiters only around parts. It also allows blanks after a delimiter, but no
    client sends them.
    """
    count, start = 0, body.find(delimiter)
    while start >= 0:
        count += 1
        end = start + len(delimiter)
        if count > max_parts + 1:
            raise FormError(f"form: wanted 1 to {max_pictures} pictures, got more")
        if body.startswith((b" ", b"\t"), end):
            raise FormError("form: wanted a line break behind each boundary, got a blank")
        start = body.find(delimiter, end)


class _Reader:
    """Collects the parts that the parser finds."""

    def __init__(self, max_pictures: int, fields: FormFields) -> None:
        self.pictures: list[Part] = []
        self.labels: dict[str, str] = {}
        self.is_whole = False
        self._max_pictures, self._fields = max_pictures, fields
        self._pictures_name = ""

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

    def _take_header_name(self, chunk: bytes, start: int, end: int) -> None:
        self._header = chunk[start:end].decode("latin-1").lower()

    def _take_header_value(self, chunk: bytes, start: int, end: int) -> None:
        if self._header == "content-disposition":
            self._disposition = chunk[start:end].decode("latin-1")
        if self._header == "content-transfer-encoding":
            _check_encoding(chunk[start:end].decode("latin-1"))

    def _check_field(self) -> None:
        disposition, options = parse_options_header(self._disposition)
        self._name = options.get(b"name", b"").decode(errors="replace")
        if self._fields.is_strict:
            self._check_strictly(disposition)
        if self._name in self._fields.pictures:
            self._check_picture_field()
        self._filename = sanitize(options.get(b"filename", b"").decode(errors="replace"))

    def _check_strictly(self, disposition: bytes) -> None:
        is_known = self._name in (*self._fields.pictures, *self._fields.labels)
        if disposition != b"form-data" or not is_known:
            raise FormError(
                f"form: wanted fields named {FIELDS_TEXT}, and the labels {LABELS_TEXT}, "
                f"got {sanitize(self._name)!r}; parameters go into the query"
            )
        if self._name in self.labels:
            raise FormError(f"form: wanted {self._name} once, got it again")

    def _check_picture_field(self) -> None:
        self._pictures_name = self._pictures_name or self._name
        if self._name != self._pictures_name:
            raise FormError(
                "form: wanted all pictures in fields of one name, "
                f"got {self._pictures_name} and {self._name}"
            )
        if len(self.pictures) == self._max_pictures:
            raise FormError(f"form: wanted 1 to {self._max_pictures} pictures, got more")

    def _take_content(self, chunk: bytes, start: int, end: int) -> None:
        self._content += chunk[start:end]

    def _end(self) -> None:
        if self._name in self._fields.labels:
            self.labels[self._name] = _text_of(self._name, self._content)
        elif self._name in self._fields.pictures:
            self.pictures.append(Part(self._filename, self._content))

    def _finish(self) -> None:
        self.is_whole = True


def _text_of(name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FormError(f"form: wanted {name} as text in UTF-8, got other bytes") from error


def _check_encoding(encoding: str) -> None:
    if encoding.strip().lower() not in ("binary", "8bit", "7bit"):
        raise FormError(f"form: wanted fields as they are, got one in {sanitize(encoding)!r}")


def sanitize(name: str) -> str:
    """Return a caller's name in a safe form: no control characters, not too long."""
    return "".join(char if char.isprintable() else "?" for char in name[:MAX_NAME_CHARACTERS])
