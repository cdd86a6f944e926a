"""Commands that open gates, and what became of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from orchestrator.client.inference import HttpResponse, OutgoingRequest, reading
from plate_cameras.client.pages import read_document, to_path, to_record, to_time

PATH = "v1/gates"
ACCEPTED = 202
BEGUN = "begun"


@dataclass(frozen=True)
class OpeningRecord:
    """A command to open a gate.

    Attributes:
        id: Its id.
        gate: Name of the gate.
        camera: Name of the camera.
        pass_id: Id of the pass that it was for; `""` for none.
        text: Text of the vehicle's plate.
        outcome: `opened`, `failed`, or `unknown`: it may have opened. `requested` while it waits.
        reason: A sentence about the outcome; `""` for an opening.
        reason_code: Code of the sentence.
        person: Name of the person or key.
        remark: The person's reason.
        time: Time of the command.
    """

    id: str
    gate: str
    camera: str
    pass_id: str
    text: str
    outcome: str
    reason: str
    reason_code: str
    person: str
    remark: str
    time: datetime

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> OpeningRecord:
        """Return an opening of the API's answer."""
        return to_record(cls, document, time=to_time(document["time"]))

    @property
    def is_settled(self) -> bool:
        """True once the gate has done, or not done, what it will."""
        return self.outcome != "requested" and self.reason_code != BEGUN


def command_gate(name: str, reason: str, pass_id: str) -> OutgoingRequest:
    """Return the request that opens a gate. Its id makes it one command, however often it comes."""
    path = to_path(f"{PATH}/{quote(name, safe='')}/openings", {"reason": reason})
    body = {"pass_id": pass_id, "id": str(uuid.uuid4())}
    headers = {"Content-Type": "application/json"}
    return OutgoingRequest("POST", path, json.dumps(body).encode(), headers)


def query_opening(id_: str) -> OutgoingRequest:
    """Return the request for a command as it is now."""
    return OutgoingRequest("GET", f"{PATH}/openings/{quote(id_, safe='')}")


def read_opening(response: HttpResponse) -> OpeningRecord:
    """Return the opening that an answer holds.

    Raises:
        RejectedError: The answer holds none. The message is that of the server.
    """
    document = read_document(response, "openings", ACCEPTED)
    with reading("openings"):
        return OpeningRecord.of(document)
