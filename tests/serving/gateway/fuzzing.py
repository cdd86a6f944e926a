"""Settings of schemathesis for the API."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import Any

import cv2
import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis.checks import CHECKS

from orchestrator.host.canary import PICTURE_FILE
from orchestrator.networks.weights import WEIGHTS
from orchestrator.serving.gateway.http.labels import LABELS
from orchestrator.settings import Settings

SUFFIXES = {"image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp", "image/bmp": ".bmp"}
CONFIG = schemathesis.Config.from_dict(
    {
        "generation": {"max-examples": 30, "deterministic": True, "database": "none"},
        "phases": {"stateful": {"enabled": False}},
    }
)
ALLOWED = Settings()
"""The limits of an operator who has set none."""
TEXTS_OF_FORMS = (*LABELS, "config")
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "positive_data_acceptance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)


@cache
def read_pictures() -> dict[str, bytes]:
    """Return a picture of a real plate as a file of each type."""
    plate = cv2.imread(str(WEIGHTS / PICTURE_FILE))
    return {kind: cv2.imencode(suffix, plate)[1].tobytes() for kind, suffix in SUFFIXES.items()}


def prepare(test: pytest.Item) -> None:
    """Prepare a test whose schema is a fixture, so that no other process than the test's builds it.

    Bodies are pictures, because random bytes are all rejected.
    """
    test._nodeid = test.nodeid  # type: ignore[attr-defined]  # schemathesis 4.24 reads what pytest 9.2 renamed
    anything = st.sampled_from([*read_pictures().values()])
    schemathesis.openapi.format("binary", anything)
    schemathesis.openapi.format("byte", anything.map(lambda file: b64encode(file).decode()))
    schemathesis.openapi.media_type("application/octet-stream", anything)
    for kind, file in read_pictures().items():
        schemathesis.openapi.media_type(kind, st.just(file))


def checks_of(case: schemathesis.Case) -> list[schemathesis.CheckFunction]:
    names = [*CHECKED]
    if not is_as_in_words(case):
        names.remove("positive_data_acceptance")
    if is_text_by_its_form(case):
        names.remove("negative_data_rejection")
    return [CHECKS.get_one(name) for name in names]


def is_as_in_words(case: schemathesis.Case) -> bool:
    """Tell whether a call certainly keeps the rules that the schema gives only in words.

    They are the order of a region's sides, that the day of a time exists, that a text is JSON, and
    that the operator allows a number.
    """
    body = case.body if isinstance(case.body, dict) else {}
    if isinstance(body.get("config"), str):
        return False
    if not all(map(is_allowed, (case.query or {}, body))):
        return False
    times = [fields["timestamp"] for fields in (case.query or {}, body) if "timestamp" in fields]
    return "roi" not in (case.query or {}) and all(map(is_day, times))


def is_allowed(fields: Mapping[str, Any]) -> bool:
    """Tell whether the operator surely allows the numbers of a call."""
    maxima = {"detector_side_px": ALLOWED.max_detector_side_px, "max_plates": ALLOWED.max_plates}
    numbers = {name: fields[name] for name in maxima if name in fields}
    return all(isinstance(value, int) and value <= maxima[name] for name, value in numbers.items())


def is_text_by_its_form(case: schemathesis.Case) -> bool:
    """Tell whether a form has made text of a label that was to be of another type."""
    body = case.body if isinstance(case.body, dict) else {}
    values = [body[name] for name in TEXTS_OF_FORMS if name in body]
    is_form = case.media_type is not None and "form" in case.media_type
    return is_form and not all(isinstance(value, str) for value in values)


def is_day(time: object) -> bool:
    try:
        return bool(date.fromisoformat(str(time)[:10]))
    except ValueError:
        return False
