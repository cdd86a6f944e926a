"""Costs of a call: memory, and its part of a client's turns."""

import pytest

from orchestrator.imaging.headers import PNG_SPEED, WEBP_SPEED, Header
from orchestrator.serving.gateway.policy.costs import COPIES, cost_of
from orchestrator.serving.protocol.inference import Cost


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
