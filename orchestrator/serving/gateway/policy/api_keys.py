"""API keys: a TOML file of their names, hashes and quotas, and the lookup of a caller's key."""

from __future__ import annotations

import hashlib
import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.host.disk_files import stamp_of
from orchestrator.host.toml_files import build, check_range
from orchestrator.serving.gateway.errors import KeysUnavailable, Unauthenticated
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.clients import KEY_PREFIX, PRIORITIES, ROLES, Client

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = re.compile(r"[a-z0-9-]{1,64}")
HASH = re.compile(r"[0-9a-f]{64}")
LOOK_AGAIN_S = 5.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Key:
    """One key's entry in the file.

    Attributes:
        sha256: SHA-256 of the key, in hex. A random key of 256 bits cannot be guessed from its
            hash, so no slow hash function is needed.
        priority: gate, usual or archive.
        calls: Most calls at once. If None, as many as for an address.
        rate: Calls a second. If None, as many as for an address.
        expires: First day, in UTC, on which the key is refused. If None, the key never expires.
        role: sender, viewer, editor or administrator in an extension. If None, it may only
            recognize.
        groups: Groups of cameras that it may see in an extension. If None, all.
    """

    sha256: str
    priority: str = "usual"
    calls: int | None = None
    rate: float | None = None
    expires: str | None = None
    role: str | None = None
    groups: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not HASH.fullmatch(self.sha256):
            raise SettingsError("sha256: wanted 64 hex digits in small letters, got something else")
        if self.priority not in PRIORITIES:
            raise SettingsError(
                f"priority: wanted one of {', '.join(PRIORITIES)}, got {self.priority!r}"
            )
        if self.calls is not None:
            check_range("calls", self.calls, 1, 1_000_000_000)
        if self.rate is not None:
            check_range("rate", self.rate, 0.001, 1_000_000_000)
        if self.expires is not None:
            _start_of(self.expires)
        self._check_role()

    def _check_role(self) -> None:
        if self.role is not None and self.role not in ROLES:
            raise SettingsError(f"role: wanted one of {', '.join(ROLES)}, got {self.role!r}")
        if self.groups is None:
            return
        if self.role is None:
            raise SettingsError("groups: wanted a role beside them, got none")
        if not self.groups or not all(self.groups):
            raise SettingsError(f"groups: wanted names of groups, got {[*self.groups]}")

    @property
    def end(self) -> float | None:
        """The Unix time from which on the key is refused; None if it never expires."""
        return None if self.expires is None else _start_of(self.expires)

    def is_expired(self, now: float) -> bool:
        """Tell whether the key is refused at a Unix time."""
        return self.end is not None and now >= self.end


def _start_of(day: str) -> float:
    try:
        first = date.fromisoformat(day)
    except ValueError as error:
        raise SettingsError(f"expires: wanted a date as 2027-01-31, got {day!r}") from error
    return datetime(first.year, first.month, first.day, tzinfo=timezone.utc).timestamp()


class Keys:
    """All keys that the gateway knows."""

    def __init__(self, by_name: Mapping[str, Key], now: Callable[[], float] = time.time) -> None:
        """Index the keys by their hashes.

        Args:
            by_name: Keys by their names. If empty, there are no keys.
            now: Returns the Unix time.

        Raises:
            SettingsError: A name is not valid, or two keys are the same.
        """
        self.by_name, self._now = by_name, now
        self._names: dict[str, str] = {}  # by the hash
        for name, key in by_name.items():
            check_name(name)
            other_name = self._names.setdefault(key.sha256, name)
            if other_name != name:
                raise SettingsError(f"[{name}] wanted a key of its own, got that of [{other_name}]")

    def ends(self) -> dict[str, float]:
        """Return the Unix times at which keys expire, by their names, the soonest first."""
        ends = {name: key.end for name, key in self.by_name.items() if key.end is not None}
        return dict(sorted(ends.items(), key=lambda item: item[1]))

    def client_of(self, key: str, limits: Limits) -> Client:
        """Return the client of a key.

        The key is looked up by its hash. So the time of the lookup reveals nothing about the known
        keys.

        Raises:
            Unauthenticated: The key is not known, or has expired.
        """
        name = self._names.get(hash_of(key))
        if name is None:
            raise Unauthenticated("the key is not known")
        entry = self.by_name[name]
        if entry.is_expired(self._now()):
            raise Unauthenticated(f"the key has expired, on {entry.expires}")
        calls = limits.client_calls if entry.calls is None else entry.calls
        rate = limits.client_rate if entry.rate is None else entry.rate
        return Client(
            KEY_PREFIX + name,
            calls,
            rate,
            PRIORITIES[entry.priority],
            role=entry.role or "",
            groups=entry.groups or (),
        )


def hash_of(key: str) -> str:
    """Return a key's hash, as the file holds it."""
    return hashlib.sha256(key.encode()).hexdigest()


def check_name(name: str) -> None:
    """Check the name of a key.

    Raises:
        SettingsError: The name is not valid.
    """
    if not NAME.fullmatch(name):
        raise SettingsError(
            f"name: wanted small letters, digits and hyphens, at most 64, got {name!r}"
        )


def read_keys(file: Path, now: Callable[[], float] = time.time) -> Keys:
    """Read a file of keys. An empty file means that there are no keys.

    Raises:
        SettingsError: The file cannot be read, or its content is not valid.
    """
    try:
        return parse_keys(file.read_text(encoding="utf-8"), now)
    except OSError as error:
        raise SettingsError(f"{file}: wanted a file of keys, got {error.strerror}") from error
    except (SettingsError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: {error}") from error


def parse_keys(text: str, now: Callable[[], float] = time.time) -> Keys:
    """Return the keys that the text of a file holds.

    Raises:
        SettingsError: The text is not valid.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"wanted TOML, got: {error}") from error
    return Keys({name: _key(name, table) for name, table in tables.items()}, now)


def _key(name: str, table: object) -> Key:
    if isinstance(table, dict):  # `build` does not know dates
        table = {
            field: str(value) if isinstance(value, date) else value
            for field, value in table.items()
        }
    try:
        return build(Key, table)
    except SettingsError as error:
        raise SettingsError(f"[{name}] {error}") from error


class KeyFile:
    """A file of keys that is read again when it has changed.

    Attributes:
        is_broken: The file was deleted or damaged. No key is accepted until it is repaired. So a
            key that an operator removed does not stay valid.
    """

    def __init__(self, file: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the file.

        Raises:
            SettingsError: The file cannot be read, or its content is not valid.
        """
        self._file, self._clock = file, clock
        self._last_look_s, self._stamp = clock(), stamp_of(file)
        self._keys = read_keys(file)
        self.is_broken = False

    def keys(self) -> Keys:
        """Return the keys of the file. The file is checked every 5 seconds at most.

        Raises:
            KeysUnavailable: The file cannot be read, or is not a file of keys.
        """
        self.look()
        if self.is_broken:
            raise KeysUnavailable("the service cannot read its file of keys; its log says why")
        return self._keys

    def ends(self) -> dict[str, float]:
        """Return the Unix times at which keys expire, by their names, the soonest first.

        They come from the last file that could be read.
        """
        return self._keys.ends()

    def look(self) -> None:
        """Read the file again, if the next check is due and the file has changed.

        A file that could not be read is read at each check: the reason may have been this machine.
        """
        now = self._clock()
        if now - self._last_look_s < LOOK_AGAIN_S:
            return
        stamp = stamp_of(self._file)
        is_changed = stamp != self._stamp
        self._last_look_s, self._stamp = now, stamp
        if not is_changed and not self.is_broken:
            return
        try:
            self._keys, self.is_broken = read_keys(self._file), False
        except SettingsError as error:
            if is_changed:
                log.error("%s; no key is accepted until the file of keys is mended", error)
            self.is_broken = True
