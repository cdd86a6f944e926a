"""The cells of the comparison, and the options of `plates bench` that it does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.errors import SettingsError
from workshop.benchmarks.bench.plan import IN_PROCESS

CONCURRENCIES = (1, 4, 16)


@dataclass(frozen=True)
class Cell:
    """A picture, the server that gets it, and the calls at once."""

    picture: str
    server: str
    concurrency: int

    def __str__(self) -> str:
        return f"{self.picture}, {self.server} x{self.concurrency}"

    @property
    def block(self) -> tuple[str, int]:
        """The cells of a block are measured right after one another."""
        return self.picture, self.concurrency


def list_cells(
    pictures: Sequence[str], servers: Sequence[str], concurrencies: Sequence[int]
) -> list[Cell]:
    """Return every cell, in the order of the report."""
    return [
        Cell(picture, server, concurrency)
        for picture in pictures
        for concurrency in sorted(concurrencies)
        for server in (*servers, IN_PROCESS)
    ]


def check_unused(options: Mapping[str, object]) -> None:
    """Check that no option was given that the comparison does not have.

    Args:
        options: The values of those options, by name.

    Raises:
        SettingsError: One was given.
    """
    for name, value in options.items():
        if value:
            raise SettingsError(f"peers: wanted without --{name}, got both")
