"""Passwords of people: rules, and slow hashes that few threads make."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from orchestrator.errors import ParameterError
from orchestrator.serving.gateway.extension import ServiceFull

ResultT = TypeVar("ResultT")

MEMORY_KIB, TIME_COST, LANES = 46 * 1024, 2, 1
"""Parameters of Argon2id: 80 to 100 ms of a core of an AMD EPYC. OWASP asks for 46 MiB and one pass
at least."""
MIN_PASSWORD_CHARACTERS, MAX_PASSWORD_CHARACTERS = 12, 200
MAX_CONCURRENT, MAX_WAITING = 2, 16


def check_password(password: str, name: str) -> None:
    """Check a new password.

    Raises:
        ParameterError: It is too short or too long, or has the person's name in it.
    """
    if not MIN_PASSWORD_CHARACTERS <= len(password) <= MAX_PASSWORD_CHARACTERS:
        limits = f"{MIN_PASSWORD_CHARACTERS} to {MAX_PASSWORD_CHARACTERS} characters"
        raise ParameterError(f"password: wanted {limits}, got {len(password)}")
    if name in password.lower():
        raise ParameterError("password: wanted one without the person's name, got one with it")


def hash_password(password: str) -> str:
    """Return the hash of a password with its parameters and a random salt."""
    return _hasher().hash(_normalize(password))


class PasswordChecker:
    """Checks passwords in threads of its own. At most two run at once, so that recognition goes on.

    Args:
        processes: Processes of the gateway, which share the threads.
        hasher: Makes and verifies hashes.
    """

    def __init__(self, processes: int = 1, hasher: PasswordHasher | None = None) -> None:
        threads = max(1, MAX_CONCURRENT // processes)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="passwords")
        self._open = 0
        self._hasher = hasher or _hasher()

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Tell whether a hash is that of a password. Without a hash, the check takes as long.

        Raises:
            ServiceFull: Too many passwords wait to be checked.
        """
        return await self._run(lambda: self._verify(password_hash, password))

    async def hash(self, password: str) -> str:
        """Return the hash of a password.

        Raises:
            ServiceFull: Too many passwords wait.
        """
        return await self._run(lambda: hash_password(password))

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], ResultT]) -> ResultT:
        if self._open >= MAX_WAITING:
            raise ServiceFull("too many people log in at once; try again", 1.0)
        self._open += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._open -= 1

    def _verify(self, password_hash: str | None, password: str) -> bool:
        nobodys_hash = _hash_of_nobody(self._hasher.hash)  # only the first check makes it
        try:
            self._hasher.verify(password_hash or nobodys_hash, _normalize(password))
        except (VerificationError, InvalidHashError):
            return False
        return password_hash is not None


@cache
def _hash_of_nobody(hash_it: Callable[[str], str]) -> str:
    return hash_it("nobody has this password")


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher(TIME_COST, MEMORY_KIB, LANES)


def _normalize(password: str) -> str:
    """Return one form of a password: keyboards write the same letter as one or two characters."""
    return unicodedata.normalize("NFC", password)
