"""Messages to people: Telegram, e-mail, Slack and many other services, by the library Apprise."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from orchestrator.errors import ExtraError, SettingsError
from orchestrator.host.toml_files import show
from plate_cameras.background_tasks import describe
from plate_cameras.clocks import steady_s
from plate_cameras.secret_settings import resolve_secret
from plate_cameras.sink_settings import Sink
from plate_cameras.sinks.event_messages import LANGUAGES, to_message
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import DeliveryError, Undeliverable

SERVICES = frozenset({
    "bale", "bark", "barks", "dingtalk", "discord", "feishu", "gchat", "gotify", "gotifys",
    "hassio", "hassios", "json", "jsons", "lark", "line", "mailto", "mailtos", "mmost", "mmosts",
    "nctalk", "nctalks", "ntfy", "ntfys", "pover", "prowl", "rocket", "rockets", "signal",
    "signals", "slack", "tgram", "twilio", "webex", "whatsapp", "workflows", "zulip",
})  # fmt: skip
"""Schemes of addresses. Each sends over HTTP or SMTP, and takes pictures from memory or takes none.
Others of Apprise show messages on this machine, load plugins, open files by their names, or take a
message for the end of an incident."""
FILE_OPTIONS = frozenset({"pgp", "pgpprv", "pgppub", "template", "wkd"})
"""Options of addresses that name files of this machine, or keys that Apprise would write there."""
PICTURES_S, TIMEOUT_S = 3.0, 25.0
"""Longest wait for the pictures, and longest time of one message. Together they are shorter than
the limit of an event: a message that is sent after it would be sent again."""
STATUS = re.compile(r"\berror=([0-9]{3})\b")
"""The HTTP status in a line of Apprise's log. The rest is not shown: it may contain
secrets."""
TOO_LARGE = "status 413"
"""Reason of a message that the service will never take."""
LOG = logging.getLogger(__name__)
ALL, PLATE, NONE = CHOICES = ("all", "plate", "none")
PICTURES, LANGUAGE = "pictures", "language"
"""Options of the sink: the pictures of a message, and the language of its words."""


class NotifyReceiver:
    """Sends each event as a message with the pictures that are kept of the pass.

    Args:
        sink: The sink, whose `url` is an address of Apprise, mostly `env:NAME` or `file:PATH`.
        environ: The environment variables for `env:NAME`.
        find_pictures: Returns the kept pictures of a pass by its id, the plate first. It may block.

    Raises:
        SettingsError: The address or an option is wrong. The message does not contain the address.
        ExtraError: Apprise is not installed.
    """

    def __init__(
        self,
        sink: Sink,
        environ: Mapping[str, str],
        find_pictures: Callable[[str], Sequence[bytes]],
    ) -> None:
        self._choice = _read_choice(sink, PICTURES, CHOICES)
        self._language = _read_choice(sink, LANGUAGE, LANGUAGES)
        self._find_pictures = find_pictures
        self._reading: asyncio.Future[Sequence[bytes] | None] | None = None
        self._apprise = _import_apprise(sink)
        url = resolve_secret(f"sink {sink.name}: url", sink.url, environ)
        self._open = partial(_open_service, self._apprise, sink, url)
        self._open()

    async def send(self, delivery: Delivery) -> None:
        """Send one message, see `Receiver`. A picture that cannot be read holds up no alert."""
        pictures = await self._read_pictures(delivery.pass_id)
        await asyncio.to_thread(self._send, delivery, pictures)

    async def idle(self) -> None:
        """Do nothing: each message is a request of its own."""

    async def close(self) -> None:
        """Do nothing: no connection stays open."""

    async def _read_pictures(self, pass_id: str) -> Sequence[bytes] | None:
        """Return the pictures of a message; None if they cannot be read now."""
        if self._choice == NONE:
            return ()
        if self._reading is None or self._reading.done():  # else a disk hangs since the last time
            self._reading = asyncio.ensure_future(asyncio.to_thread(self._try_to_find, pass_id))
            await asyncio.wait({self._reading}, timeout=PICTURES_S)
            if self._reading.done():
                return self._reading.result()
        LOG.warning("a message has no pictures: they cannot be read within %g s", PICTURES_S)
        return None

    def _try_to_find(self, pass_id: str) -> Sequence[bytes] | None:
        try:
            return self._find_pictures(pass_id)
        except Exception as error:  # whatever it is, the alert must not wait for it
            LOG.warning("a message has no pictures: %s", describe(error))
            return None

    def _send(self, delivery: Delivery, pictures: Sequence[bytes] | None) -> None:
        title, lines = to_message(delivery.document, self._language)
        if pictures is None:
            pictures = ()
            lines.append(LANGUAGES[self._language]["no_picture"])
        if self._choice == PLATE:
            pictures = pictures[:1]
        attachments = [
            self._apprise.attachment.memory.AttachMemory(picture, name, "image/jpeg")
            for picture, name in zip(pictures, ("plate.jpg", "vehicle.jpg"), strict=False)
        ]
        ends_s = steady_s() + TIMEOUT_S
        failure = self._notify(title, lines, attachments, TIMEOUT_S)
        if failure == TOO_LARGE and attachments:  # each further attempt would fail as well
            lines.append(LANGUAGES[self._language]["large_picture"])
            failure = self._notify(title, lines, [], max(1.0, ends_s - steady_s()))
        if failure:
            kind = Undeliverable if failure == TOO_LARGE else DeliveryError
            raise kind(f"cannot notify: {failure}")

    def _notify(
        self, title: str, lines: Sequence[str], attachments: Sequence[Any], timeout_s: float
    ) -> str:
        """Send one message. Return the reason of a failure; empty for a success."""
        # A new one: Apprise's pause between requests would grow when a clock is set back.
        result = self._open().notify(
            "\n".join(lines),
            title,
            body_format=self._apprise.NotifyFormat.TEXT,
            attach=attachments or None,
            timeout=timeout_s,
            log_level=logging.WARNING,
        )
        return "" if result else _read_failure(result)


def _read_failure(result: Any) -> str:
    """Return the reason of a failure. Apprise's own words may hold the address and its secrets."""
    matches = (STATUS.search(entry.message) for entry in result.logs())
    return next((f"status {match[1]}" for match in matches if match), "no answer")


def _open_service(apprise: Any, sink: Sink, url: str) -> Any:
    """Return the service of an address, which works without files of this machine."""
    where = f"sink {sink.name}: url: "
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() not in SERVICES:
        names, kind = ", ".join(sorted(SERVICES)), "another one" if separator else "none"
        raise SettingsError(f"{where}wanted a service of {names}, got {kind}")
    options = {name.lower().strip(" +-:") for name, _ in parse_qsl(rest.partition("?")[2])}
    if wrong := sorted(options & FILE_OPTIONS):
        raise SettingsError(f"{where}wanted no option that names a file, got {wrong[0]}")
    from plate_cameras.sinks.short_answers import limit_answers  # needs a library of Apprise

    asset = apprise.AppriseAsset(
        storage_mode="memory",
        allow_templates=False,
        async_mode=False,
        http_redirects=False,
        pgp_autogen=False,
        pem_autogen=False,
        app_id="plates",
        app_desc="plates",
    )
    service = apprise.Apprise(asset=asset)
    plugin = apprise.Apprise.instantiate(url, asset=asset)
    if plugin is None:
        raise SettingsError(f"{where}wanted an address of {scheme}:// as Apprise describes it")
    limit_answers(plugin)
    service.add(plugin)
    return service


def _import_apprise(sink: Sink) -> Any:
    """Import the library, and silence its logs, which contain secrets."""
    logging.getLogger("apprise").propagate = False
    logging.getLogger("urllib3").setLevel(logging.INFO)  # it tells paths, such as a bot's token
    try:
        import apprise
        import apprise.attachment.memory
    except ImportError as error:
        raise ExtraError(
            f"sink {sink.name}: type {sink.type} needs a package that `make cameras` installs"
        ) from error
    return apprise


def _read_choice(sink: Sink, name: str, choices: Sequence[str] | Mapping[str, Any]) -> str:
    value = sink.options.get(name, next(iter(choices)))
    if value not in choices:
        wanted_values = ", ".join(choices)
        raise SettingsError(
            f"sink {sink.name}: {name}: wanted one of {wanted_values}, got {show(value)}"
        )
    return value
