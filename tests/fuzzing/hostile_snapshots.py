"""Hostile bodies for `/v1/plate-reader/` and `/v1/vision/alpr`: forms, encoded forms and JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from urllib.parse import urlencode

from tests.fuzzing.doors import RawRequest
from tests.fuzzing.hostile_bombs import png_bombs
from tests.fuzzing.hostile_calls import JPEG, Requests
from tests.fuzzing.hostile_forms import DISPOSITIONS
from tests.serving.gateway.http.forms import CONTENT_TYPE, form, part

JSON, ENCODED = "application/json", "application/x-www-form-urlencoded"
TEXT = b64encode(JPEG).decode()
NAMED = 'form-data; name="upload"'
BODIES = {
    "nothing": b"", "null": b"null", "a number": b"1e999", "no end": b'{"upload":"',
    "deep": b'{"config":' * 9000, "lists": b"[" * 100_000, "numbers": b"[" + b"0," * 9000 + b"0]",
    "a surrogate": b'{"upload":"\\ud800"}', "NUL": b'{"upload":"\\u0000"}',
    "a key twice": b'{"upload":"a","upload":"b"}', "a mark": b"\xef\xbb\xbf{}",
}  # fmt: skip
VALUES = {
    "config": [1, [], "{", "[" * 5000, "NaN", {"threshold_d": "0.5"}, {"threshold_o": 1e308},
               {"threshold_o": True}, '{"threshold_d": NaN}', {"detection_mode": ["plate"]}],
    "camera_id": [2**63, 0.5, True, "\x00" * 100, "a" * 99_999, {}],
    "timestamp": ["2026-02-30", "2026-02-30 00:00:00", "0" * 99_999, "\u0662026", 5],
    "upload": [1, [], {}, "", "data:image/png;base64,", "/9j/" + "*" * 99, "/9j/" * 9999],
    "upload_url": ["http://[::1]/", 7],
}  # fmt: skip
ENCODED_BODIES = {
    "plain": urlencode({"upload": TEXT}).encode(), "escapes": b"%41" * 80_000, "ends": b"&" * 9000,
    "no name": b"=" * 9000, "half an escape": b"upload=%4", "no UTF-8": b"upload=%ff%fe",
    "bytes": bytes(range(256)), "fields": b"a=b&" * 60_000, "twice": b"upload=a&upload=b",
}  # fmt: skip
FORMS = {
    "a file": form(part(JPEG, NAMED)), "base64": form(part(TEXT.encode(), NAMED)),
    "others": form(part(JPEG, NAMED), *[part(b"x" * 9000, 'form-data; name="a"')] * 64),
    "more others": form(part(JPEG, NAMED), *[part(b"", 'form-data; name="a"')] * 66),
    "two files": form(*[part(JPEG, NAMED)] * 2), "none": form(),
    "a label of bytes": form(part(JPEG, NAMED), part(b"\xff", 'form-data; name="config"')),
}  # fmt: skip


def snapshots() -> Requests:
    """Return the hostile snapshots, each under its name."""
    cases = {
        f"snapshot JSON: {name}": RawRequest("snapshot", JSON, body)
        for name, body in BODIES.items()
    }
    for name, values in VALUES.items():
        for number, value in enumerate(values):
            body = json.dumps({"upload": TEXT} | {name: value}).encode()
            cases[f"snapshot {name} {number}"] = RawRequest("snapshot", JSON, body)
    for name, body in ENCODED_BODIES.items():
        cases[f"snapshot encoded: {name}"] = RawRequest("snapshot", ENCODED, body)
    own = FORMS | {name: form(part(JPEG, text)) for name, text in DISPOSITIONS.items()}
    own["a bomb"] = form(part(png_bombs()["PNG of 10^8 pixels"], NAMED))
    for name, body in own.items():
        cases[f"snapshot form: {name}"] = RawRequest("snapshot", CONTENT_TYPE, body)
        cases[f"vision form: {name}"] = RawRequest("vision", CONTENT_TYPE, body)
    return cases
