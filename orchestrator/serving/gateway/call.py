"""One call, from its headers to its response."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.contract import EVERY_OUTPUT, MODEL, PLATE_READER
from orchestrator.serving.gateway.policy.slots import Slot
from orchestrator.serving.protocol.inference import InferenceResponse


@dataclass(eq=False)
class Call(Slot):
    """One call. The adapter of its protocol asks the data plane for it, and passes it on.

    It is its own slot in the admission. So one object has the caller, the resources and the
    outcome of a call. Its request, once parsed, is an `InferenceRequest`; a form has several.

    Attributes:
        kind: Kind of the request, from a small set.
        address: IP address of the caller, as a trusted proxy tells it; empty if it is not known.
        model: Name of the model; empty before the call is parsed.
        id: Request id of the call. Pictures of one form have ids of their own, which begin with it.
        plates: Number of plates in the responses.
        is_audited: True if the audit gets a line even if the call is answered.
    """

    kind: str = ""
    address: str = ""
    model: str = ""
    id: str = ""
    plates: int = 0
    is_audited: bool = True


def count_plates(response: InferenceResponse) -> int:
    """Return the number of plates in a response; 0 for an operator's own model."""
    if response.model not in (MODEL, PLATE_READER):
        return 0
    return next((output.shape[0] for output in response.outputs if output.name in EVERY_OUTPUT), 0)
