"""Deliveries for tests."""

from __future__ import annotations

from typing import Literal

from plate_cameras.passes import to_document
from plate_cameras.sinks.outbox import Delivery
from tests.plate_cameras.samples import make_event


def make_delivery(
    number: int = 0,
    *,
    sink: str = "erp",
    pass_id: str = "",
    kind: Literal["agreed", "closed"] = "closed",
) -> Delivery:
    """Return the delivery that was stored at second `number`."""
    pass_id = pass_id or f"pass-{number}"
    document = to_document(make_event(kind, id_=pass_id))
    return Delivery(f"{pass_id}-{kind}", sink, document, created_s=float(number))
