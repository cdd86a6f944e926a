"""Runs all steps of a job, also those after one that has failed."""

from __future__ import annotations

import logging
from collections.abc import Callable

from plate_cameras.store.errors import StoreError

LOG = logging.getLogger(__name__)


class AllSteps:
    """Runs the steps of a job, and raises the first error at its end.

    Args:
        job: Name of the job, for the log.
    """

    def __init__(self, job: str) -> None:
        self._job = job
        self._errors: list[StoreError] = []

    def run(self, name: str, step: Callable[[], int | None]) -> int:
        """Run a step. Return what it has counted; 0 after an error, which is logged."""
        try:
            return step() or 0
        except StoreError as error:
            LOG.error("%s: %s: %s", self._job, name, error)
            self._errors.append(error)
            return 0

    def finish(self) -> None:
        """End the job.

        Raises:
            StoreError: A step has failed; the first error.
        """
        if self._errors:
            raise self._errors[0]
