"""What it takes to answer a call: memory while it is in work, and its part of a client's turns."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.picture_headers import Header

COPIES = 8
"""Of what was sent, while it is in work: five in the gateway, the rest in Triton and its worker.
Measured with twelve files of 9 MB at once: 0.7 GB more in the gateway, 0.3 GB in Triton."""
PIXELS_A_CALL = 10_000_000
"""That a usual call may have to unpack, 0.07 s of a core; a frame of 4K video has 8 million."""


@dataclass(frozen=True)
class Cost:
    """What it takes to answer a call.

    Attributes:
        bytes: Memory at most, of all processes.
        calls: As how many calls of the usual size it counts.
    """

    bytes: int = 0
    calls: float = 1.0


USUAL_COST = Cost()


def cost_of(sent_bytes: int, header: Header | None = None) -> Cost:
    """Return the cost of a call with a picture.

    Args:
        sent_bytes: A file's, or those of its pixels.
        header: The file's; None for pixels, which nobody has to unpack.
    """
    if header is None:
        return Cost(COPIES * sent_bytes)
    pixels = header.width * header.height * header.passes
    return Cost(header.unpacking_bytes + COPIES * sent_bytes, max(1.0, pixels / PIXELS_A_CALL))
