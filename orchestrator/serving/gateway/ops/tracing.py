"""Trace headers of callers: forwarded if they follow the standard, else dropped.

Source: W3C "Trace Context".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FORMS = {
    "traceparent": re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"),
    "tracestate": re.compile(r"[!-~](?:[ -~]{0,510}[!-~])?"),
}


def trace_of(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the trace headers of a call, by lower-case name."""
    values = {name: headers.get(name, "") for name in FORMS}
    return {name: value for name, value in values.items() if FORMS[name].fullmatch(value)}
