"""Hostile forms and queries: no boundary, nested forms, endless headers."""

from __future__ import annotations

from tests.fuzzing.doors import RawRequest
from tests.fuzzing.hostile_bombs import png_bombs
from tests.fuzzing.hostile_calls import JPEG, Requests
from tests.serving.gateway.http.forms import BOUNDARY, CONTENT_TYPE, form, part

FORM, NAMED = "multipart/form-data", 'form-data; name="picture"'
BEGIN = f"--{BOUNDARY}\r\n".encode()

TYPES = {
    "none": FORM, "empty": f"{FORM}; boundary=", "quotes": f'{FORM}; boundary="', "no type": ";",
    "long": f"{FORM}; boundary={'b' * 9000}", "two": f"{CONTENT_TYPE}; boundary=b",
    "starred": f"{FORM}; boundary*=utf-8''a", "a quote within": f'{FORM}; boundary="a\\""',
    "a thousand": FORM + "; a=b" * 5000, "a dash": f"{FORM}; boundary=-", "image": "image/",
    "mixed": "multipart/mixed; boundary=a", "JSON": "application/json",
    "not Latin": f"{FORM}; boundary=\xff", "no end": f'{FORM}; boundary="a' + ";" * 5000,
}  # fmt: skip
DISPOSITIONS = {
    "a header of 1 MB": NAMED + "; a=" + "b" * 1_000_000, "folded": "form-data;\r\n name=picture",
    "a thousand headers": NAMED + "\r\na: b" * 1000, "two names": NAMED + '; name="b"',
    "a starred name": "form-data; name*=utf-8''picture",
    "a name of bytes": 'form-data; name="\xff"',
    "an encoding": NAMED + "\r\nContent-Transfer-Encoding: base64", "nothing": "",
    "a path": NAMED + '; filename="../../etc/passwd\x01"', "quotes": "\"" * 999,
}  # fmt: skip
LABEL = 'form-data; name="camera_id"'
CONTENTS = {
    "nothing": b"", "delimiters": b"\r\n--the-boundar" * 200_000,
    "line breaks": b"\r\n" * 1_000_000,
    "dashes": b"--" * 1_000_000, "a form": form(part(JPEG)),
}  # fmt: skip
QUERIES = (
    "max_plates=1&max_plates=2", "max_plates=nan", "max_plates=" + "9" * 9000, "max_plates=1e400",
    "roi=" + "1," * 4000, "roi=nan,nan,nan,nan", "roi=0,0,1e400,1e400", "roi=0,0,5,5", "%00=1",
    "%ff=%ff", "=", "&" * 9000, "a" * 30_000, "detector_side_px=64.0", "detection_threshold=-0.0",
    "text_threshold=1e-400", "max_plates=%D9%A3", "+=+", "a=1;b=2",
    "camera_id=" + "%00" * 9000, "camera_id=%ed%a0%80", "timestamp=", "timestamp=" + "0" * 30_000,
    "timestamp=2026-02-30T00:00:00Z", "timestamp=2026-05-17T09:30:00%0A",
)  # fmt: skip


def bodies() -> dict[str, bytes]:
    picture = part(JPEG)
    own = {
        "nothing": b"", "no part": form(), "its end alone": f"--{BOUNDARY}--".encode(),
        "one picture": form(picture), "four": form(*[picture] * 4), "five": form(*[picture] * 5),
        "a million bytes of parts": BEGIN * 60_000, "empty parts": form(*[part(b"")] * 4),
        "no end": picture, "no headers": form(BEGIN + b"\r\nx\r\n"),
        "no colon": form(BEGIN + b"abc\r\n\r\nx\r\n"),
        "line feeds alone": form(picture).replace(b"\r\n", b"\n"),
        "labels alone": form(*[part(b"", LABEL)] * 4),
        "a label of bytes": form(part(b"\xff", LABEL)),
        "a label of a picture": form(picture, part(JPEG, LABEL)),
        "a label of 1 MB": form(picture, part(b"0" * 1_000_000, LABEL)),
        "a label of NUL": form(picture, part(b"\0\x1b\r\n" * 9, LABEL)),
        "fields of two names": form(picture, part(JPEG, NAMED.replace("picture", "file"))),
        "a bomb": form(picture, part(png_bombs()["PNG of 10^8 pixels"], NAMED)),
    }  # fmt: skip
    own |= {name: form(part(JPEG, disposition)) for name, disposition in DISPOSITIONS.items()}
    return own | {f"{name} within": form(part(inner, NAMED)) for name, inner in CONTENTS.items()}


def forms() -> Requests:
    """Return the hostile multipart forms, each under its name."""
    whole = form(part(JPEG))
    cases = {
        f"form, type: {name}": RawRequest("rest", content_type, whole)
        for name, content_type in TYPES.items()
    }
    for name, body in bodies().items():
        cases[f"form: {name}"] = RawRequest("rest", CONTENT_TYPE, body)
        cases[f"form of crops: {name}"] = RawRequest("crops", CONTENT_TYPE, body)
    return cases | {f"query {text[:24]}": RawRequest("query", text, JPEG) for text in QUERIES}
