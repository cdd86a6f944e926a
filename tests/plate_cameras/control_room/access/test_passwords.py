"""Passwords: their rules, and their hashes, for which there are few threads."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from orchestrator.errors import ParameterError
from orchestrator.serving.gateway.errors import ServiceFull
from plate_cameras.control_room.access.passwords import (
    MAX_CONCURRENT,
    MAX_WAITING,
    PasswordChecker,
    check_password,
    hash_password,
)

HASH = hash_password("caf\u00e9 latte forever")


class HeldHasher:
    """Stands in for the slow hashes: each verification waits until it is released."""

    def __init__(self) -> None:
        self.is_released, self.entries = threading.Event(), threading.Semaphore(0)
        self.running_count = self.max_running = 0
        self._lock = threading.Lock()

    def hash(self, _password: str) -> str:
        return "nobody's"

    def verify(self, _hash: str, _password: str) -> None:
        with self._lock:
            self.running_count += 1
            self.max_running = max(self.max_running, self.running_count)
        self.entries.release()
        assert self.is_released.wait(30)
        with self._lock:
            self.running_count -= 1


@asynccontextmanager
async def open_checker(**options: Any) -> AsyncIterator[PasswordChecker]:
    checker = PasswordChecker(**options)
    yield checker
    checker.close()


@pytest.mark.parametrize(
    ("password_hash", "password", "is_right"),
    [
        pytest.param(HASH, "caf\u00e9 latte forever", True, id="right"),
        pytest.param(HASH, "cafe\u0301 latte forever", True, id="accent as its own character"),
        pytest.param(HASH, "caf\u00e9 latte foreve", False, id="wrong"),
        pytest.param(HASH, "", False, id="empty"),
        pytest.param(None, "nobody has this password", False, id="nobody"),
        pytest.param("damaged", "caf\u00e9 latte forever", False, id="damaged hash"),
    ],
)
async def test_a_password_is_checked(
    password_hash: str | None, password: str, is_right: bool
) -> None:
    async with open_checker() as checker:
        assert await checker.verify(password_hash, password) is is_right


def test_the_same_password_has_another_hash_each_time() -> None:
    assert hash_password("caf\u00e9 latte forever") != HASH


async def test_only_two_are_checked_at_once_and_few_wait() -> None:
    hasher = HeldHasher()
    async with open_checker(hasher=hasher) as checker:
        checks = [asyncio.create_task(checker.verify("hash", "x")) for _ in range(MAX_WAITING)]
        await asyncio.to_thread(lambda: [hasher.entries.acquire() for _ in range(MAX_CONCURRENT)])
        with pytest.raises(ServiceFull, match="too many people log in at once"):
            await checker.verify("hash", "x")
        hasher.is_released.set()
        assert await asyncio.gather(*checks) == [True] * MAX_WAITING
    assert hasher.max_running == MAX_CONCURRENT


async def test_several_processes_share_the_threads() -> None:
    hasher = HeldHasher()
    async with open_checker(processes=4, hasher=hasher) as checker:
        checks = [asyncio.create_task(checker.verify("hash", "x")) for _ in range(2)]
        await asyncio.to_thread(hasher.entries.acquire)
        hasher.is_released.set()
        assert await asyncio.gather(*checks) == [True, True]
    assert hasher.max_running == 1


async def test_an_unknown_name_costs_a_hash_as_well() -> None:
    hasher = HeldHasher()
    hasher.is_released.set()
    async with open_checker(hasher=hasher) as checker:
        assert await checker.verify(None, "x") is False
    assert hasher.entries.acquire(blocking=False)


@pytest.mark.parametrize("length", [11, 201])
def test_a_password_of_a_wrong_length_is_rejected(length: int) -> None:
    with pytest.raises(ParameterError, match=f"wanted 12 to 200 characters, got {length}"):
        check_password("x" * length, "anna")
