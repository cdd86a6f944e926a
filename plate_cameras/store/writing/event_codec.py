"""Events as bytes, pictures included, for the files of the spool.

A file holds one line of JSON, which tells the lengths of the pictures, and then the pictures.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache

from pydantic import TypeAdapter, ValidationError

from plate_cameras.store.errors import RejectedValue
from plate_cameras.store.writing.addressed_events import AddressedEvent

PICTURES = ("crop_jpeg", "frame_jpeg")


def encode(addressed: AddressedEvent) -> bytes:
    """Return an event as the content of a file."""
    table = asdict(addressed)
    best = table["event"]["passed"]["best"]
    pictures = [best.pop(name) for name in PICTURES]
    table["lengths"] = [len(picture) for picture in pictures]
    return b"\n".join((json.dumps(table).encode(), b"".join(pictures)))


def decode(content: bytes) -> AddressedEvent:
    """Return the event of a file.

    Raises:
        RejectedValue: The file is damaged.
    """
    line, _, pictures = content.partition(b"\n")
    try:
        table = json.loads(line)
        crop, frame = table.pop("lengths")
        if len(pictures) != crop + frame:
            raise ValueError(f"wanted {crop + frame} bytes of pictures, got {len(pictures)}")
        best = table["event"]["passed"]["best"]
        best |= {"crop_jpeg": pictures[:crop], "frame_jpeg": pictures[crop:]}
        return _adapter().validate_python(table)
    except ValidationError as error:  # its text holds values, such as plates
        wrong = f"{error.error_count()} fields do not fit"
        raise RejectedValue(f"a file of the spool is damaged: {wrong}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RejectedValue(f"a file of the spool is damaged: {error}") from error


@cache
def _adapter() -> TypeAdapter[AddressedEvent]:
    return TypeAdapter(AddressedEvent)
