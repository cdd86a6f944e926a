"""Limits that fit the memory that there is."""

from __future__ import annotations

import logging
from dataclasses import replace

from orchestrator.gateway.options import MIB, Limits
from orchestrator.memory import LEAST_BYTES, budget

BODIES = 5
"""One part of so many that pictures in work get is for bodies of all calls. A body that waits takes
three times its bytes: as it came, as its pictures, and as Triton is to get them."""
BYTES_A_PIXEL = 8
"""Memory that a usual photo takes while it is in work: unpacked, and its file's copies."""

logger = logging.getLogger(__name__)


def fit(limits: Limits, memory_bytes: int, workers: int, processes: int) -> Limits:
    """Return limits with which pictures in work, and bodies, fit the memory.

    Where `picture_mb` is given, it is kept, and the bodies' memory too; a picture that does not fit
    it is refused all the same, and a sentence in the log says so.

    Args:
        limits: As they were asked for.
        memory_bytes: Memory of the container or machine.
        workers: Worker processes of Triton.
        processes: Of the gateway.
    """
    if not limits.picture_mb:
        picture_mb = max(LEAST_BYTES, budget(memory_bytes, workers)) // MIB
        memory_mb = max(limits.body_mb, picture_mb // BODIES)
        memory_mb = min(limits.memory_mb, memory_mb)
        limits = replace(limits, picture_mb=picture_mb, memory_mb=memory_mb)
    pixels = limits.picture_bytes // processes // BYTES_A_PIXEL
    if pixels >= limits.pixels:
        return limits
    logger.warning(
        "pictures of more than %d pixels are refused: calls in work may take %d MiB, "
        "of %d MiB of memory in all; more memory, or --limit picture_mb=MIB, allows larger ones",
        pixels,
        limits.picture_mb,
        memory_bytes // MIB,
    )
    return replace(limits, pixels=pixels)
