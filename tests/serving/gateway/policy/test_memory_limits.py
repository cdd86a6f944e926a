"""The cost of a picture, and limits that fit the memory of a container."""

import pytest

from orchestrator.host.resources import budget, service_bytes
from orchestrator.imaging.headers import PNG_SPEED, WEBP_SPEED, Header
from orchestrator.serving.gateway.options import MIB, Limits
from orchestrator.serving.gateway.policy.costs import COPIES, cost_of
from orchestrator.serving.gateway.policy.memory_limits import fit
from orchestrator.serving.protocol.inference import Cost

GIB = 1024 * MIB
WORKERS = 10
"""With two cores."""


def test_a_large_machine_lowers_nothing(caplog) -> None:
    limits = fit(Limits(), 64 * GIB, WORKERS, processes=1)
    assert limits == Limits(picture_mb=budget(64 * GIB, WORKERS) // MIB)
    assert caplog.messages == []


def test_two_gib_hold_one_photo_of_48_megapixels_and_the_bodies_that_wait(caplog) -> None:
    """The rest of the memory is for freed pictures that processes still hold."""
    limits = fit(Limits(), 2 * GIB, WORKERS, processes=1)
    assert cost_of(7 * MIB, Header(8000, 6000)).bytes <= limits.picture_bytes
    assert limits.pixels == 50_000_000
    assert 36 < limits.body_mb < 80  # the pixels of a usual phone
    assert cost_of(limits.body_bytes).bytes <= limits.picture_bytes
    assert 2 * 6 * 7 <= limits.memory_mb <= limits.picture_mb // 4  # six photos are half of it
    free_mb = (2 * GIB - service_bytes(WORKERS)) // MIB
    assert limits.picture_mb + 3 * limits.memory_mb * 7 // 8 <= free_mb
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


@pytest.mark.parametrize("processes", [1, 2])
def test_pictures_that_do_not_fit_are_refused_with_a_sentence(caplog, processes: int) -> None:
    limits = fit(Limits(), GIB + 512 * MIB, WORKERS, processes)
    assert 1_000_000 < limits.pixels < 50_000_000
    largest = cost_of(0, Header(limits.pixels, 1))
    assert largest.bytes <= limits.share(processes).picture_bytes
    (sentence,) = (message for message in caplog.messages if message.startswith("pictures"))
    assert sentence.startswith(f"pictures of more than {limits.pixels} pixels are refused")
    assert "of 1536 MiB of memory in all" in sentence


def test_a_budget_that_was_asked_for_is_kept_and_shared_by_processes() -> None:
    limits = fit(Limits(picture_mb=1000), 2 * GIB, WORKERS, processes=1)
    assert (limits.picture_mb, limits.memory_mb) == (1000, 256)
    assert (limits.share(2).picture_mb, Limits().share(2).picture_mb) == (500, 0)
    assert fit(Limits(memory_mb=40), 2 * GIB, WORKERS, processes=1).memory_mb == 40


def test_pixels_cost_their_copies() -> None:
    assert cost_of(1000) == Cost(COPIES * 1000, 1.0)


@pytest.mark.parametrize(
    ("header", "pixel_bytes", "calls", "seconds"),
    [
        pytest.param(Header(300, 200), 7, 1.0, 0.0004, id="small"),
        pytest.param(Header(3840, 2160), 7, 1.0, 0.055296, id="4K video"),
        pytest.param(Header(8000, 6000, kept_bytes=2), 7, 4.8, 0.32, id="48 megapixels"),
        pytest.param(Header(8000, 6000, scans=10, kept_bytes=6), 9, 24.0, 1.6, id="progressive"),
        pytest.param(Header(7000, 7000, speed=PNG_SPEED), 7, 10.5, 0.7, id="PNG"),
        pytest.param(Header(6000, 6000, speed=WEBP_SPEED), 7, 9.0, 0.6, id="WebP"),
    ],
)
def test_a_file_costs_unpacking_it_and_its_copies(
    header: Header, pixel_bytes: int, calls: float, seconds: float
) -> None:
    cost = cost_of(1000, header)
    assert cost.bytes == pixel_bytes * header.width * header.height + COPIES * 1000
    assert (cost.calls, cost.seconds) == pytest.approx((calls, seconds))
