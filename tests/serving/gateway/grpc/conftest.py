"""One event loop for all tests of gRPC."""

from collections.abc import Callable

import pytest

from tests.serving.gateway.loops import run


@pytest.fixture(autouse=True)
def run_coroutine() -> Callable:
    return run
