"""The cells of the comparison, and the options of `plates bench` that it does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.errors import SettingsError
from workshop.benchmarks.plan import IN_PROCESS

CONCURRENCIES = (1, 4, 16)
CALLERS, AB = "callers", "ab"
"""The load generators: ours, and ApacheBench."""


@dataclass(frozen=True)
class Cell:
    """A picture, the server that gets it, the calls at once, and the load generator."""

    picture: str
    server: str
    concurrency: int
    generator: str = CALLERS

    def __str__(self) -> str:
        return f"{self.picture}, {self.server} x{self.concurrency} by {self.generator}"

    @property
    def block(self) -> tuple[str, int]:
        """The cells of a block are measured right after one another."""
        return self.picture, self.concurrency


def list_cells(
    pictures: Sequence[str],
    servers: Sequence[str],
    concurrencies: Sequence[int],
    generators: Sequence[str],
) -> list[Cell]:
    """Return every cell, in the order of the report; no generator but ours runs in process."""
    return [
        Cell(picture, server, concurrency, generator)
        for picture in pictures
        for concurrency in sorted(concurrencies)
        for generator in generators
        for server in (*servers, *_in_process(generator))
    ]


def _in_process(generator: str) -> Iterator[str]:
    if generator == CALLERS:
        yield IN_PROCESS


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
