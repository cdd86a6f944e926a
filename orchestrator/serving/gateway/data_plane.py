"""The data plane. Checks, admits and forwards every inference call, from HTTP and gRPC alike."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.contract import MODEL, PROBE
from orchestrator.errors import RequestError
from orchestrator.host.canary import read_canary
from orchestrator.host.distribution import read_version
from orchestrator.serving.gateway.call import Call, count_plates
from orchestrator.serving.gateway.certificates import Certificate
from orchestrator.serving.gateway.errors import (
    ANSWERED,
    CANCELLED,
    Evicted,
    KeysUnavailable,
    Outcome,
    QuotaExceeded,
    ServiceFull,
    Unauthenticated,
    outcome_of,
)
from orchestrator.serving.gateway.ops.audit import Audit, CallEntry
from orchestrator.serving.gateway.ops.metrics import Metrics
from orchestrator.serving.gateway.options import GatewayOptions
from orchestrator.serving.gateway.policy.admission import Admission
from orchestrator.serving.gateway.policy.api_keys import KeyFile
from orchestrator.serving.gateway.policy.authentication import authenticate, has_key
from orchestrator.serving.gateway.policy.clients import Client, client_at
from orchestrator.serving.gateway.policy.connections import Connections
from orchestrator.serving.gateway.policy.custom_models import check_by_metadata
from orchestrator.serving.gateway.policy.trusted_proxies import TrustedProxies
from orchestrator.serving.gateway.policy.validation import check, check_served, take_timeout
from orchestrator.serving.gateway.upstream.health import Canary, plate_reading
from orchestrator.serving.gateway.upstream.triton import Triton
from orchestrator.serving.protocol.gateway_events import TritonMoved
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse

EXTENSIONS = ("binary_tensor_data", "model_configuration", "parameters")
"""Extensions of KServe v2 and Triton that callers may use."""
REFRESH_S = 1.0
PROBES = 100
"""Largest number of connections to the port of metrics and probes. Callers cannot use them up."""
DELAYED = (ServiceFull, QuotaExceeded, Unauthenticated)
"""Rejections that are delayed if there are many."""
Headers = Sequence[tuple[str, str]]
Identify = Callable[[Headers, Client], Awaitable[Client | None]]
"""Returns the client of a call without a key, from its headers and address; None for any caller."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerMetadata:
    """The metadata of the gateway itself, not of the Triton behind it."""

    name: str
    version: str
    extensions: tuple[str, ...]


class DataPlane:
    """The data plane behind all protocols. It must be created inside its event loop."""

    def __init__(self, options: GatewayOptions, certificate: Certificate | None = None) -> None:
        """Begin without any calls.

        Args:
            options: Options of the gateway.
            certificate: The TLS certificate that metrics watch; None without TLS.

        Raises:
            SettingsError: The file of keys or of the audit cannot be used.
        """
        self.options, self.limits = options, options.limits.share(options.processes)
        self.certificate, self._served_models = certificate, options.served_models
        self.triton = Triton(replace(options, limits=self.limits))
        self.canary = self._make_canary()
        self.admission = Admission(self.limits)
        max_of_address = self.limits.client_connections
        self.proxies = TrustedProxies(options.trusted_proxies)
        proxies = self.proxies if options.trusted_proxies else None
        self.connections = Connections(self.limits.connections, max_of_address, proxies)
        self.probes = Connections(PROBES, max_of_address)
        self.metrics = Metrics(self.admission.counts)
        self.is_extension_away = False
        self.broken_parts: Callable[[], Sequence[str]] = tuple  # parts beside recognition
        self._moves: set[asyncio.Task[None]] = set()
        self._audit = Audit(options.audit)
        self._keys = KeyFile(options.keys) if options.keys else None

    def leave(self) -> None:
        """Reject new calls and stop retries, because the process is to end."""
        self.triton.retries.end()
        for connections in (self.connections, self.probes):
            connections.is_leaving = True

    def _make_canary(self) -> Canary:
        if not self.options.has_plates:
            return Canary(self.triton.ping)
        picture = read_canary(self.options.canary)
        return Canary(plate_reading(self.triton.retries.infer, picture.file), picture.text)

    @asynccontextmanager
    async def admit(
        self,
        protocol: str,
        kind: str,
        address: str,
        headers: Headers,
        *,
        identify: Identify | None = None,
    ) -> AsyncIterator[Call]:
        """Admit a caller before its body is read, and record the outcome at the end.

        Args:
            protocol: Protocol of the call, one of `metrics.PROTOCOLS`.
            kind: Kind of the request, from a small set.
            address: IP address of the connection's other end; empty if it is not known.
            headers: Lower-case names and values of the headers.
            identify: Finds out who calls without a key; None for calls that need one.

        Raises:
            PlateError: The caller or its call is rejected.
        """
        start_s = time.monotonic()
        if self.options.trusted_proxies:
            address = self.proxies.client_of(address, headers)
        call = Call(client_at(address, self.limits), kind=kind, address=address)
        outcome = CANCELLED  # unless the call ends otherwise
        try:
            call.client = await self._find_client(headers, call.client, identify)
            self.admission.enter(call)
            try:
                yield call
            finally:
                self.admission.slots.remove(call)
            outcome = ANSWERED
        except Exception as error:
            outcome = self._outcome_of(kind, error)
            if isinstance(error, DELAYED) and not isinstance(error, Evicted):
                await self.admission.delay_rejection(call.client.name)
            raise
        finally:
            self._note(protocol, call, outcome, time.monotonic() - start_s)

    async def _find_client(
        self, headers: Headers, address: Client, identify: Identify | None
    ) -> Client:
        is_keyless = not has_key(headers)
        if identify and is_keyless and (client := await identify(headers, address)):
            return client
        keys = self._keys.keys() if self._keys else None
        wants_key = self.options.wants_keys
        try:
            return authenticate(headers, address, keys, wants_key=wants_key, limits=self.limits)
        except Unauthenticated:
            self.admission.charge(address)
            raise

    def knows(self, headers: Headers, client: Client) -> bool:
        """Tell whether a client's key is still valid, with the same quotas and role."""
        try:
            keys = self._keys.keys() if self._keys else None
            return client == authenticate(headers, client, keys, wants_key=True, limits=self.limits)
        except (Unauthenticated, KeysUnavailable):
            return False

    def _outcome_of(self, kind: str, error: Exception) -> Outcome:
        outcome = outcome_of(error)
        if outcome.status == 500:  # our own fault; only this log describes it
            logger.error("%s failed", kind, exc_info=error)
        return outcome

    def _note(self, protocol: str, call: Call, outcome: Outcome, seconds: float) -> None:
        entry = CallEntry(
            client=call.client.name,
            kind=call.kind,
            model=call.model,
            id=call.id,
            status=outcome.status,
            reason=outcome.reason,
            ms=1e3 * seconds,
            bytes=call.size,
            plates=call.plates,
        )
        self.metrics.note(protocol, entry)
        is_written = call.is_audited or outcome is not ANSWERED
        if is_written and not self._audit.write(entry):
            self.metrics.lost_audit_lines.inc()

    async def infer(self, call: Call, request: InferenceRequest) -> InferenceResponse:
        """Check a request of a call, wait in the queue, and return Triton's response.

        Raises:
            PlateError: The request is rejected, or not answered.
        """
        call.model, call.id = request.model, call.id or request.id
        if request.id == PROBE:
            raise RequestError(f"id: wanted any but that of health checks, got {request.id!r}")
        check_served(request.model, request.version, self._served_models)
        request = take_timeout(request) if request.parameters else request
        if request.model in self.options.models:
            metadata = await self.triton.metadata_of(request.model, request.version)
            request = check_by_metadata(request, metadata)
        else:
            request = check(request, self.limits, self.options.outputs)
        async with self.admission.queue(call, request.cost) as turn:
            response = await self.triton.retries.infer(request)
            turn.plates = count_plates(response)
        call.plates += turn.plates
        return response

    def check_served(self, model: str, version: str) -> None:
        """Check that callers may reach a model.

        Raises:
            NotFound: Callers may not reach it.
        """
        check_served(model, version, self._served_models)

    def move(self, addresses: TritonMoved) -> None:
        """Send the next calls to another Triton. The old one answers the calls that it has."""
        task = asyncio.create_task(self.triton.move(addresses))
        self._moves.add(task)
        task.add_done_callback(self._end_move)

    def _end_move(self, task: asyncio.Task[None]) -> None:
        self._moves.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("the connection to the old Triton did not close", exc_info=error)

    async def watch(self) -> None:
        """Keep the metrics up to date for ever."""
        drop_count = retry_count = 0
        while True:
            self.metrics.refresh()
            self._note_ends(time.time())
            self.metrics.retries.inc(self.triton.retries.count - retry_count)
            retry_count = self.triton.retries.count
            self.metrics.connections.set(len(self.connections))
            self.metrics.dropped_connections.inc(self._drop_count - drop_count)
            drop_count = self._drop_count
            await asyncio.sleep(REFRESH_S)

    def _note_ends(self, now: float) -> None:
        """Tell the metrics how long keys and certificate last."""
        if self._keys:
            self._keys.look()
            self.metrics.keys_broken.set(self._keys.is_broken)
            ends = self._keys.ends().items()
            self.metrics.note_key_ends({name: end - now for name, end in ends})
        if self.certificate and self.certificate.expires is not None:
            within_s = self.certificate.expires - now
            self.metrics.note_certificate(self.certificate.name, within_s)

    @property
    def _drop_count(self) -> int:
        return self.connections.drop_count + self.probes.drop_count

    async def close(self) -> None:
        await self.triton.close()
        self._audit.close()

    async def is_live(self) -> bool:
        return self.canary.is_alive()

    async def is_ready(self) -> bool:
        """Tell whether the service is ready: a recent health check passed, and models are ready."""
        if not self.canary.is_ready():
            return False
        models = (MODEL,) if self.options.has_plates else self.options.models
        return all([await self.triton.is_model_ready(model, "") for model in models])

    async def is_model_ready(self, model: str, version: str) -> bool:
        self.check_served(model, version)
        return await self.triton.is_model_ready(model, version)

    async def metadata_of(self, model: str, version: str) -> Any:
        self.check_served(model, version)
        return await self.triton.metadata_of(model, version)

    async def config_of(self, model: str, version: str) -> Any:
        self.check_served(model, version)
        return await self.triton.config_of(model, version)

    async def page_of(self, model: str, version: str, page: str = "") -> bytes:
        """Return a model's metadata, or its `/config`, as Triton sends it over HTTP."""
        self.check_served(model, version)
        below = f"/versions/{version}" if version else ""
        return await self.triton.page(f"/v2/models/{model}{below}{page}")

    def server_metadata(self) -> ServerMetadata:
        return ServerMetadata("plates", read_version(), EXTENSIONS)
