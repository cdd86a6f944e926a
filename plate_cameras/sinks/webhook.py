"""Webhooks: each event is posted to an address, signed.

Source: Standard Webhooks, specification 1.0 (https://www.standardwebhooks.com).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import ssl
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from standardwebhooks import Webhook
from yarl import URL

from orchestrator.errors import SettingsError
from orchestrator.host.network_addresses import is_public, may_be_name
from plate_cameras.clocks import unix_s
from plate_cameras.configuration import Sink
from plate_cameras.secret_settings import describe_without_address, resolve_secret
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import MAX_WAIT_S, DeliveryError, ReceiverGone, Undeliverable

TIMEOUT_S = 20.0
"""Longest time from the look-up of the name to the last header of the answer."""
MAX_BYTES = 256_000
GONE = 410
SECRET_PREFIX = "whsec_"
MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64
"""Bytes of a secret, by the specification."""


class PublicResolver(AbstractResolver):
    """Resolves names, and leaves out addresses of private networks.

    The connection goes to an address that was checked here. A name that resolves differently the
    next time (DNS rebinding) gains nothing.
    """

    def __init__(self, resolver: AbstractResolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: int = 0, **options: object
    ) -> list[ResolveResult]:
        """Return the public addresses of a host.

        Raises:
            OSError: It has none.
        """
        addresses = await self._resolver.resolve(host, port, family)  # type: ignore[arg-type]
        public_addresses = [address for address in addresses if is_public(address["host"])]
        if not public_addresses:
            raise OSError(f"wanted a public address, {host} has none")
        return public_addresses

    async def close(self) -> None:
        await self._resolver.close()


class WebhookReceiver:
    """Posts events to one address.

    Any 2xx answer is a success. 410 means that the receiver wants no more. Redirects are failures.

    Args:
        sink: The sink, with `url`, `secrets` and `private_addresses`.
        environ: The environment variables for secrets.
        resolver: Resolves names; None for the system's.
        clock: Returns the Unix time, for signatures.

    Raises:
        SettingsError: The address or a secret has a wrong form.

    Attributes:
        at_once: Number of events that may be on their way.
    """

    at_once = 8

    def __init__(
        self,
        sink: Sink,
        environ: Mapping[str, str],
        resolver: AbstractResolver | None = None,
        clock: Callable[[], float] = unix_s,
    ) -> None:
        self._url = _check_url(sink)
        self._secrets = [_read_secret(sink.name, secret, environ) for secret in sink.secrets]
        self._is_public_only = not sink.private_addresses
        self._resolver = resolver
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def send(self, delivery: Delivery) -> None:
        """Post one event, see `Receiver`."""
        text = json.dumps(delivery.document, ensure_ascii=False, separators=(",", ":"))
        body = text.encode()
        if len(body) > MAX_BYTES:
            raise Undeliverable(f"wanted at most {MAX_BYTES} bytes, got {len(body)}")
        try:
            async with self._open().post(
                self._url,
                data=body,
                headers=self._make_headers(delivery.id, text),
                allow_redirects=False,
            ) as response:
                _check(response.status, self._wait_s(response.headers))
        except asyncio.TimeoutError as error:
            raise DeliveryError(f"no answer within {TIMEOUT_S:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise DeliveryError(f"cannot post: {describe_without_address(error)}") from error

    async def idle(self) -> None:
        """Do nothing: each event is a request of its own."""

    async def close(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            resolver = self._resolver or ThreadedResolver()
            if self._is_public_only:
                resolver = PublicResolver(resolver)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=resolver, ssl=ssl.create_default_context(), use_dns_cache=False
                ),
                timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
                cookie_jar=aiohttp.DummyCookieJar(),  # a receiver could fill the memory with them
                auto_decompress=False,
                trust_env=False,
            )
        return self._session

    def _wait_s(self, headers: Mapping[str, str]) -> float:
        """Return the seconds of a `Retry-After`, which has seconds or a date (RFC 9110, 10.2.3).

        The receiver's clock may differ, so a date counts relative to the date of its answer.
        """
        retry_after = headers.get("Retry-After", "")
        if retry_after.isdecimal():
            return min(float(retry_after), MAX_WAIT_S)
        until_s, now_s = _read_date(retry_after), _read_date(headers.get("Date", ""))
        if until_s is None:
            return 0.0
        return min(max(0.0, until_s - (self._clock() if now_s is None else now_s)), MAX_WAIT_S)

    def _make_headers(self, id_: str, body: str) -> dict[str, str]:
        """Return the headers: id, time, and a signature for each secret."""
        now = datetime.fromtimestamp(int(self._clock()), timezone.utc)
        signatures = [secret.sign(id_, now, body) for secret in self._secrets]
        headers = {
            "content-type": "application/json",
            "webhook-id": id_,
            "webhook-timestamp": str(int(now.timestamp())),
        }
        return headers | ({"webhook-signature": " ".join(signatures)} if signatures else {})


def _read_date(text: str) -> float | None:
    """Return the Unix time of a date; None if it is none."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _check_url(sink: Sink) -> str:
    """Return the address of a webhook."""
    try:
        parts = URL(sink.url)
    except ValueError as error:
        raise SettingsError(f"sink {sink.name}: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.raw_host:
        raise SettingsError(f"sink {sink.name}: wanted an http:// or https:// address")
    if not sink.private_addresses and _is_private_literal(parts.raw_host):
        raise SettingsError(
            f"sink {sink.name}: wanted a public address, got {parts.host}; "
            "private_addresses = true allows it"
        )
    return sink.url


def _is_private_literal(host: str) -> bool:
    """Tell whether aiohttp connects to a host without asking the resolver, but may not."""
    if may_be_name(host):  # it is checked when it is resolved
        return False
    try:
        return not is_public(host)
    except ValueError:  # a short or another form
        return True


def _read_secret(sink: str, value: str, environ: Mapping[str, str]) -> Webhook:
    secret = resolve_secret(f"sink {sink}", value, environ)
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith(SECRET_PREFIX) or not MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES:
        raise SettingsError(
            f"sink {sink}: wanted secrets of the form {SECRET_PREFIX}..., with "
            f"{MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes in base64"
        )
    return Webhook(key)


def _check(status: int, wait_s: float) -> None:
    """Raise an error unless a status means success."""
    if 200 <= status < 300:
        return
    if status == GONE:
        raise ReceiverGone("the receiver answered 410 Gone")
    raise DeliveryError(f"the receiver answered with status {status}", wait_s)
