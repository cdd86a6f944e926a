"""Costs of calls: memory while a call is in work, and its share of the client's quota."""

from __future__ import annotations

from orchestrator.imaging.headers import Header
from orchestrator.serving.protocol.inference import Cost

COPIES = 8
"""Copies of the sent bytes while a call is in work. Five are in the gateway, the rest in Triton
and its worker.
Measured with twelve files of 9 MB at once: 0.7 GB more in the gateway, 0.3 GB in Triton."""
PIXEL_BYTES, COPY_BYTES = 3, 4
"""Memory for each pixel: of the picture; of OpenCV's copy of it, with everything else.

Measured with OpenCV 4.11: 6.0 bytes a pixel for most files and 7.0 for lossless WebP. It was 9.0
for progressive JPEG in full colour, and 11.0 for such JPEG with four components."""
USUAL_S = 1 / 15
"""Seconds of a core for which a usual call decodes at most: a JPEG of 10 megapixels. A frame of 4K
video has 8."""


def cost_of(sent_bytes: int, header: Header | None = None) -> Cost:
    """Return the cost of a call with a picture.

    Args:
        sent_bytes: Bytes of the file, or of the pixels.
        header: Header of the file; None for pixels, which need no decoding.
    """
    if header is None:
        return Cost(COPIES * sent_bytes)
    seconds, pixels = header.decoding_s, header.width * header.height
    unpacked_bytes = pixels * (PIXEL_BYTES + max(COPY_BYTES, header.kept_bytes))
    return Cost(unpacked_bytes + COPIES * sent_bytes, max(1.0, seconds / USUAL_S), seconds)
