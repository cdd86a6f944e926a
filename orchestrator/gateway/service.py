"""What a call means, whatever it came over: who may, whose turn it is, what became of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from orchestrator.contract import MODEL, PLATE_READER
from orchestrator.gateway.admission import Admission
from orchestrator.gateway.audit import Audit
from orchestrator.gateway.calls import Answer, Call
from orchestrator.gateway.checks import check
from orchestrator.gateway.clients import Client
from orchestrator.gateway.connections import Connections
from orchestrator.gateway.health import Canary
from orchestrator.gateway.keys import KeyFile, who_calls
from orchestrator.gateway.metrics import Metrics
from orchestrator.gateway.options import GatewayOptions, Limits
from orchestrator.gateway.refusals import ANSWERED, Full, NotServed, Outcome, TooMany, outcome_of
from orchestrator.gateway.triton import Triton

SERVED = (MODEL, PLATE_READER)
EXTENSIONS = ("binary_tensor_data", "model_configuration", "parameters")
"""Of KServe v2 and Triton's, those that callers reach."""

logger = logging.getLogger(__name__)


@dataclass
class Visit:
    """One caller's stay, from its headers to its answer.

    Attributes:
        what: It asks for: a method or path of a small set.
        client: Who calls.
        size: Bytes of its body.
        model: It called; empty before it did.
        id: Of its call.
        plates: Rows of the answers.
    """

    what: str
    client: Client
    _forward: Callable[[Call, Client], Awaitable[Answer]] = field(repr=False)
    size: int = 0
    model: str = ""
    id: str = ""
    plates: int = 0

    async def infer(self, call: Call) -> Answer:
        """Check a call, wait for its turn, and forward it.

        Raises:
            PlateError: It was refused, or not answered.
        """
        self.model, self.id = call.model, call.id
        answer = await self._forward(call, self.client)
        self.plates += answer.outputs[0].shape[0] if answer.outputs else 0
        return answer


class Service:
    """The data plane: every front translates to it and from it."""

    def __init__(self, options: GatewayOptions) -> None:
        self.options = options
        self.limits = options.limits
        self.triton = Triton(options)
        self.canary = Canary(self.triton.infer, options.canary_text)
        self.admission = Admission(self.limits)
        self.audit = Audit(options.audit)
        self.connections = Connections(self.limits.connections)
        self.metrics = Metrics(self.admission, self.connections)
        self._keys = KeyFile(options.keys) if options.keys else None

    @asynccontextmanager
    async def visit(
        self, what: str, address: str, headers: Mapping[str, str], size: Callable[[], int]
    ) -> AsyncIterator[Visit]:
        """Admit a caller before its body is read, and note at the end what became of it.

        Args:
            what: It asks for.
            address: Its IP address.
            headers: By lower-case name.
            size: Tells how many bytes its body has, or refuses it.

        Raises:
            PlateError: It is refused, or its call.
        """
        begun = time.monotonic()
        visit = Visit(what, Client("nobody", 0, 0), self._forward)
        outcome = outcome_of(asyncio.CancelledError())
        try:
            visit.client = who_calls(headers, address, self._keys, self.options)
            visit.size = size()
            with self.admission.enter(visit.client, visit.size):
                yield visit
            outcome = ANSWERED
        except Exception as error:
            outcome = outcome_of(error)
            if outcome.reason == "internal":
                logger.exception("%s of %s failed", what, visit.client.name)
            if isinstance(error, (Full, TooMany)):
                await self.admission.hold()
            raise
        finally:
            self._note(visit, outcome, time.monotonic() - begun)

    async def _forward(self, call: Call, client: Client) -> Answer:
        call = check(call, self.limits)
        async with self.admission.turn(client):
            return await self.triton.infer(call)

    def _note(self, visit: Visit, outcome: Outcome, seconds: float) -> None:
        self.metrics.note(visit, outcome, seconds)
        self.audit.write(visit, outcome, seconds)

    async def close(self) -> None:
        await self.triton.close()

    async def is_live(self) -> bool:
        return self.canary.is_alive()

    async def is_ready(self) -> bool:
        return self.canary.is_ready()

    async def is_model_ready(self, model: str, version: str) -> bool:
        check_served(model)
        return await self.triton.is_model_ready(model, version)

    async def metadata_of(self, model: str, version: str) -> Any:
        check_served(model)
        return await self.triton.metadata_of(model, version)

    async def config_of(self, model: str, version: str) -> Any:
        check_served(model)
        return await self.triton.config_of(model, version)

    async def page_of(self, model: str, version: str, page: str = "") -> bytes:
        """Return a model's metadata, or its `config`, as Triton says it over HTTP."""
        check_served(model)
        if version and not (version.isascii() and version.isdigit() and len(version) < 10):
            raise NotServed(f"version: wanted a number, got {version[:40]!r}")
        below = f"/versions/{version}" if version else ""
        return await self.triton.page(f"/v2/models/{model}{below}{page}")

    def server_metadata(self) -> tuple[str, str, tuple[str, ...]]:
        """Return name, version and extensions: of this service, not of the Triton behind it."""
        return "plates", metadata.version("orchestrator"), EXTENSIONS


def check_served(model: str) -> None:
    """See that callers may reach a model.

    Raises:
        NotServed: They may not.
    """
    if model not in SERVED:
        raise NotServed(f"model: wanted one of {', '.join(SERVED)}, got {model[:80]!r}")
