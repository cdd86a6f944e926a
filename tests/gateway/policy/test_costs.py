"""Memory and share of a client's turns that a call costs."""

import pytest

from orchestrator.gateway.policy.costs import COPIES, cost_of
from orchestrator.imaging.headers import Header
from orchestrator.protocol.inference import Cost


def test_pixels_cost_their_copies() -> None:
    assert cost_of(1000) == Cost(COPIES * 1000, 1.0)


@pytest.mark.parametrize(
    ("header", "calls"),
    [
        pytest.param(Header(30, 20), 1.0, id="small"),
        pytest.param(Header(3840, 2160), 1.0, id="4K video"),
        pytest.param(Header(8000, 6000), 4.8, id="48 megapixels"),
        pytest.param(Header(8000, 6000, scans=10, kept_bytes=6), 24.0, id="progressive"),
    ],
)
def test_a_file_costs_unpacking_it_and_its_copies(header: Header, calls: float) -> None:
    assert cost_of(1000, header) == Cost(header.unpacking_bytes + COPIES * 1000, calls)
