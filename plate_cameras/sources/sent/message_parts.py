"""Messages of cameras as values and pictures: forms, XML, JSON, and lines `key=value`.

A sender is not trusted: parts, depth and values are limited, and XML may define nothing.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message as Headers
from email.parser import HeaderParser
from typing import Any
from xml.parsers import expat

from orchestrator.errors import PictureError, RequestError
from orchestrator.imaging.files import BASE64_OF, from_base64

MAX_PARTS = 16
"""Largest number of parts of a form. Cameras send two to six."""
MAX_HEADER_BYTES = 4096
"""Largest size of the headers of a part."""
MAX_TEXT_BYTES = 512 * 1024
"""Largest document of XML or lines. JSON may hold pictures, and is limited as the whole message."""
MAX_DEPTH = 32
"""Largest number of values inside each other."""
MAX_VALUES = 5000
"""Largest number of values of a document."""
BLANKS = b" \t\r\n"
MARKS = b"\xef\xbb\xbf\xff\xfe\0" + BLANKS
"""Bytes before the first character of a text in UTF-8 or UTF-16."""
TEXT = ""
"""Key of the text of an XML element that has attributes or other elements, too."""
PICTURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"BM", b"RIFF")
"""The first bytes of JPEG, PNG, BMP and WebP files."""
INDEX = re.compile(r"\[(\d+)\]")
"""Index of a list in the name of a line."""


class MessageError(RequestError):
    """The body is no message of the camera's form."""

    reason = "message"


@dataclass
class SentMessage:
    """A camera's message.

    Attributes:
        values: Nested mappings, lists and texts.
        pictures: Files of pictures by the names of their parts.
    """

    values: dict[str, Any] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)


def parse_message(body: bytes, content_type: str) -> SentMessage:
    """Return the values and pictures of a message.

    Raises:
        MessageError: It is damaged, or exceeds a limit.
        PictureError: It is empty.
    """
    if not body.strip():
        raise PictureError("body: wanted a camera's message with a picture, got nothing")
    headers, message = _headers_of(f"content-type: {content_type}"), SentMessage()
    if headers.get_content_maintype() != "multipart":
        _add(message, "body", body)
        return message
    try:
        for name, content in _split(body, str(headers.get_boundary() or "").encode()):
            _add(message, name, content)
    except ValueError as error:  # of Python's parser, at names in strange encodings (RFC 2231)
        raise MessageError(f"form: wanted headers with usual names, got: {error}") from error
    return message


def is_picture(content: bytes) -> bool:
    """Tell by its first bytes whether a file is a picture."""
    return content.startswith(PICTURES)


def unpack_base64(text: bytes) -> bytes:
    """Return the picture that a text holds in base64; empty if it holds none."""
    text = text.translate(None, BLANKS)
    if not text.startswith(BASE64_OF):
        return b""
    try:
        content = from_base64(text)
    except PictureError:
        return b""
    return content if is_picture(content) else b""


def _split(body: bytes, boundary: bytes) -> Iterator[tuple[str, bytes]]:
    """Return the parts of a form with their names."""
    if not 1 <= len(boundary) <= 70:  # RFC 2046, section 5.1.1
        limit = "a boundary of 1 to 70 characters"
        raise MessageError(f"content-type: wanted {limit}, got {len(boundary)}")
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary, MAX_PARTS + 2)
    if len(parts) > MAX_PARTS + 1:
        raise MessageError(f"form: wanted at most {MAX_PARTS} parts, got more")
    if not parts or not parts[-1].startswith(b"--"):
        raise MessageError("form: wanted parts between boundaries and a closing one, got none")
    for number, part in enumerate(parts[:-1], 1):
        head, separator, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if not separator or len(head) > MAX_HEADER_BYTES:
            limit = f"headers of at most {MAX_HEADER_BYTES} bytes and an empty line"
            raise MessageError(f"form: part {number}: wanted {limit}, got none")
        headers = _headers_of(head.decode("latin-1"))
        name = headers.get_param("name", "", "content-disposition") or headers.get_filename()
        yield str(name or f"part {number}"), content


def _headers_of(text: str) -> Headers:
    return HeaderParser().parsestr(f"{text}\r\n\r\n")


def _add(message: SentMessage, name: str, content: bytes) -> None:
    """Add a part: a picture by its first bytes, else values, else a text by its name.

    The largest picture counts among those with the same name, as among those with other names.
    """
    start = content[:64].lstrip(MARKS)
    if start.startswith((b"{", b"[")):
        message.values |= _read_json(_trim(content))
    elif start.startswith(b"<"):
        message.values |= _read_xml(_trim(content))
    elif picture := content if is_picture(content) else unpack_base64(content):
        message.pictures[name] = max(picture, message.pictures.get(name, b""), key=len)
    elif len(content) <= MAX_TEXT_BYTES:
        text = content.decode(errors="replace").strip()
        message.values |= {name: text} | (_read_lines(text) if "=" in text else {})
    else:
        raise MessageError(f"{name[:100]!r}: wanted a picture, XML or JSON, got other bytes")


def _trim(content: bytes) -> bytes:
    """Return a document without blanks and null bytes round it; one in UTF-16 as it is."""
    text = content.removeprefix(codecs.BOM_UTF8).strip(BLANKS + b"\0")
    return content if b"\0" in text else text


def _read_json(content: bytes) -> dict[str, Any]:
    count = sum(map(content.count, (b",", b"[", b"{")))
    if count > MAX_VALUES:  # each would take some 60 bytes of memory, and pictures have none
        raise MessageError(f"message: wanted at most {MAX_VALUES} values of JSON, got {count}")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"message: wanted JSON, got: {error}") from error
    items = {str(number): item for number, item in enumerate(value)}
    return value if isinstance(value, dict) else items


class _XmlReader:
    """Collects the elements of a document as mappings, without their namespaces."""

    def __init__(self) -> None:
        self._stack: list[dict[str, Any]] = [{}]
        self._texts: list[str] = [""]
        self._count = 0

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1 + len(attributes)
        if self._count > MAX_VALUES or len(self._stack) > MAX_DEPTH:
            limit = f"at most {MAX_VALUES} elements, {MAX_DEPTH} inside each other"
            raise MessageError(f"message: wanted {limit}, got more")
        self._stack.append(dict(attributes))
        self._texts.append("")

    def add_text(self, text: str) -> None:
        self._texts[-1] += text

    def end(self, name: str) -> None:
        element, text = self._stack.pop(), self._texts.pop().strip()
        value: Any = element | {TEXT: text} if element and text else element or text
        name, parent = name.rpartition(":")[2], self._stack[-1]
        if name in parent:  # a list of elements of one name
            siblings = parent[name]
            value = [*siblings, value] if isinstance(siblings, list) else [siblings, value]
        parent[name] = value

    @property
    def root(self) -> dict[str, Any]:
        """The content of the outermost element."""
        value: Any = next(iter(self._stack[0].values()), {})
        return value if isinstance(value, dict) else {}


def _read_xml(content: bytes) -> dict[str, Any]:
    if len(content) > MAX_TEXT_BYTES:
        limit = f"at most {MAX_TEXT_BYTES} bytes of XML"
        raise MessageError(f"message: wanted {limit}, got {len(content)}")
    reader, parser = _XmlReader(), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.begin, reader.end
    parser.CharacterDataHandler = reader.add_text
    parser.StartDoctypeDeclHandler = _refuse_definitions
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError) as error:  # encodings that expat has not
        raise MessageError(f"message: wanted XML, got: {error}") from error
    return reader.root


def _refuse_definitions(*_: object) -> None:
    raise MessageError("message: wanted XML without a document type, got a DOCTYPE")


def _read_lines(text: str) -> dict[str, Any]:
    """Return the values of lines such as `Events[0].Code=TrafficJunction`."""
    values: dict[str, Any] = {}
    for line in text.splitlines()[:MAX_VALUES]:
        key, _, value = line.partition("=")
        *names, last_name = INDEX.sub(r".\1", key.strip()).split(".")[:MAX_DEPTH]
        place = values
        for name in names:
            inner = place.setdefault(name, {})
            if not isinstance(inner, dict):
                inner = place[name] = {}
            place = inner
        place[last_name] = value.strip()
    return values
