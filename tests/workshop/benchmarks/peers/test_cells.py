"""The grid of the comparison."""

import pytest

from orchestrator.errors import SettingsError
from workshop.benchmarks.bench.plan import IN_PROCESS
from workshop.benchmarks.load.rounds import shuffle
from workshop.benchmarks.peers.cells import Cell, check_unused, list_cells


def test_every_server_and_the_bound_get_every_load() -> None:
    assert list_cells(["street"], ["Triton", "FastAPI"], (4, 1)) == [
        Cell("street", server, count)
        for count in (1, 4)
        for server in ("Triton", "FastAPI", IN_PROCESS)
    ]


def test_servers_are_measured_in_turns_under_one_load() -> None:
    cells = list_cells(["a", "b"], ["Triton", "FastAPI"], (1, 4))
    order = shuffle(cells, 0, lambda cell: cell.block)
    blocks = [order[start : start + 3] for start in range(0, len(order), 3)]
    assert [len({cell.block for cell in block}) for block in blocks] == [1] * 4
    assert {cell.server for cell in blocks[0]} == {"Triton", "FastAPI", IN_PROCESS}


def test_options_of_other_benchmarks_are_refused() -> None:
    check_unused({"url": None, "full": False})
    with pytest.raises(SettingsError, match="peers: wanted without --url, got both"):
        check_unused({"full": False, "url": "here:1"})
