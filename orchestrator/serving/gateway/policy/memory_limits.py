"""Fits the limits to the available memory."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace

from orchestrator.host.resources import MIN_BYTES, budget
from orchestrator.serving.gateway.options import MIB, Limits
from orchestrator.serving.gateway.policy.costs import COPIES

BODIES = 5
"""Bodies of all calls get this fraction (1/5) of the memory for pictures in work. A body that
waits takes three times its bytes: the body, its pictures, and the tensors for Triton."""
MIN_BODY_MB = 32
"""Bodies of this size are taken however small the memory."""
BYTES_A_PIXEL = 8
"""Memory of a usual photo in work, for each pixel: the decoded picture and copies of its file."""

logger = logging.getLogger(__name__)


def _fit_body(limits: Limits, resource: str, max_mb: int) -> Limits:
    if limits.body_mb <= max_mb:
        return limits
    logger.warning(
        "bodies of more than %d MiB are refused, of the %d that are allowed: there is no more %s "
        "for one call. With Docker, --shm-size=1g gives shared memory",
        max_mb,
        limits.body_mb,
        resource,
    )
    return replace(limits, body_mb=max_mb)


def fit(
    limits: Limits, memory_bytes: int, workers: int, processes: int, shared_bytes: int = sys.maxsize
) -> Limits:
    """Return limits with which pictures in work, and bodies, fit into the memory.

    If `picture_mb` is given, it is kept, and so is the bodies' memory. A picture that does not fit
    into it is still refused. The log then has a warning.

    Args:
        limits: Limits that the operator asked for.
        memory_bytes: Memory of the container or machine.
        workers: Worker processes of Triton.
        processes: Processes of the gateway.
        shared_bytes: Size of the largest call that fits into the shared memory of the workers.
    """
    shared_mb = max(MIN_BODY_MB, shared_bytes // MIB)
    limits = _fit_body(limits, "shared memory (/dev/shm)", shared_mb)
    if not limits.picture_mb:
        picture_mb = max(MIN_BYTES, budget(memory_bytes, workers)) // MIB
        limits = _fit_body(limits, "memory", max(MIN_BODY_MB, picture_mb // COPIES))
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
