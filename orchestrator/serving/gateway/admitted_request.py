"""One admitted call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from orchestrator.contract import MODEL, OUTPUTS, PLATE_READER
from orchestrator.serving.gateway.policy.admission import Admission
from orchestrator.serving.gateway.policy.slots import Slot
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse

Forward = Callable[[InferenceRequest, Slot], Awaitable[InferenceResponse]]


@dataclass
class AdmittedRequest:
    """One admitted call, from its headers to its response.

    Attributes:
        admission: What admitted it.
        forward: Checks a request, waits in the queue, and returns its response.
        slot: Slot of the call.
        address: IP address of the caller, as a trusted proxy tells it; empty if it is not known.
        model: Name of the model; empty before the call is parsed.
        id: Request id of the call. Pictures of one form have ids of their own, which begin with it.
        plates: Number of plates in the responses.
        is_audited: True if the audit gets a line even if the call is answered.
    """

    admission: Admission
    forward: Forward
    slot: Slot
    address: str = ""
    model: str = ""
    id: str = ""
    plates: int = 0
    is_audited: bool = True

    def expect(self, size: int) -> None:
        """Reserve memory for a body, or for as many bytes of it as have arrived.

        Raises:
            ServiceFull: There is no room.
        """
        self.admission.reserve(self.slot, size)

    def receive(self) -> AbstractContextManager[None]:
        """Let the block read the call's body, until the call is evicted."""
        return self.admission.receive(self.slot)

    async def infer(self, request: InferenceRequest) -> InferenceResponse:
        """Check a request, wait in the queue, and forward it.

        Raises:
            PlateError: The request was rejected, or not answered.
        """
        self.model, self.id = request.model, self.id or request.id
        response = await self.forward(request, self.slot)
        self.plates += count_plates(response)
        return response


def count_plates(response: InferenceResponse) -> int:
    """Return the number of plates in a response; 0 for an operator's own model."""
    of_plates = (one for one in response.outputs if one.name in OUTPUTS)
    is_ours = response.model in (MODEL, PLATE_READER)
    return next((one.shape[0] for one in of_plates), 0) if is_ours else 0
