"""Limits that fit the memory of a container."""

import pytest

from orchestrator.host.resources import budget, service_bytes
from orchestrator.imaging.headers import Header
from orchestrator.serving.gateway.options import MIB, Limits
from orchestrator.serving.gateway.policy.costs import cost_of
from orchestrator.serving.gateway.policy.memory_limits import fit

GIB = 1024 * MIB
WORKERS = 10
"""With two cores."""


def test_a_large_machine_lowers_nothing(caplog) -> None:
    fitted = fit(Limits(), 64 * GIB, WORKERS, processes=1)
    assert fitted == Limits(picture_mb=budget(64 * GIB, WORKERS) // MIB)
    assert caplog.messages == []


def test_two_gib_take_a_photo_of_48_megapixels(caplog) -> None:
    limits = fit(Limits(), 2 * GIB, WORKERS, processes=1)
    assert cost_of(7 * MIB, Header(8000, 6000)).bytes <= limits.picture_bytes
    assert limits.pixels == 50_000_000
    assert not [message for message in caplog.messages if message.startswith("pictures")]


def test_a_body_fits_the_memory_of_one_call(caplog) -> None:
    limits = fit(Limits(), 2 * GIB, WORKERS, processes=1)
    assert 36 < limits.body_mb < 80  # the pixels of a usual phone
    assert cost_of(limits.body_bytes).bytes <= limits.picture_bytes
    (sentence,) = caplog.messages
    assert sentence.startswith(f"bodies of more than {limits.body_mb} MiB are refused")


def test_a_body_fits_the_shared_memory_of_a_worker(caplog) -> None:
    limits = fit(Limits(), 64 * GIB, WORKERS, processes=1, shared_bytes=50 * MIB)
    assert limits.body_mb == 50
    (sentence,) = caplog.messages
    assert "no more shared memory (/dev/shm) for one call" in sentence
    assert "--shm-size=1g" in sentence


def test_pixels_of_24_megapixels_fit_the_default() -> None:
    head = 1000
    limits = fit(Limits(), 8 * GIB, WORKERS, processes=4, shared_bytes=128 * MIB).share(4)
    assert 6000 * 4000 * 3 + head <= limits.body_bytes


def test_bodies_take_a_part_of_what_pictures_get() -> None:
    """One client's six photos of 7 MiB fit the half that it may have."""
    limits = fit(Limits(), 2 * GIB, WORKERS, processes=1)
    assert 2 * 6 * 7 <= limits.memory_mb <= limits.picture_mb // 4


def test_two_gib_hold_one_photo_in_work_and_the_bodies_that_wait() -> None:
    """The rest of the memory is for freed pictures that processes still hold."""
    limits = fit(Limits(), 2 * GIB, WORKERS, processes=1)
    free_mb = (2 * GIB - service_bytes(WORKERS)) // MIB
    assert limits.picture_mb + 3 * limits.memory_mb * 7 // 8 <= free_mb


def test_memory_that_was_asked_for_is_kept_where_it_fits() -> None:
    assert fit(Limits(memory_mb=40), 2 * GIB, WORKERS, processes=1).memory_mb == 40


@pytest.mark.parametrize("processes", [1, 2])
def test_pictures_that_do_not_fit_are_refused_with_a_sentence(caplog, processes: int) -> None:
    limits = fit(Limits(), GIB + 512 * MIB, WORKERS, processes)
    assert 1_000_000 < limits.pixels < 50_000_000
    largest = cost_of(0, Header(limits.pixels, 1))
    assert largest.bytes <= limits.share(processes).picture_bytes
    (sentence,) = (message for message in caplog.messages if message.startswith("pictures"))
    assert sentence.startswith(f"pictures of more than {limits.pixels} pixels are refused")
    assert "of 1536 MiB of memory in all" in sentence


def test_a_budget_that_was_asked_for_is_kept() -> None:
    limits = fit(Limits(picture_mb=1000), 2 * GIB, WORKERS, processes=1)
    assert (limits.picture_mb, limits.memory_mb) == (1000, 256)


def test_processes_share_the_budget() -> None:
    assert Limits(picture_mb=1000).share(2).picture_mb == 500
    assert Limits().share(2).picture_mb == 0
