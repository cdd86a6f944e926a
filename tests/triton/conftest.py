import sys
from types import ModuleType

import pytest

from tests.triton import fake_triton


@pytest.fixture
def triton(monkeypatch) -> ModuleType:
    """A worker's view of Triton; the modules that import it are to be imported after that."""
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", fake_triton)
    fake_triton.forget()
    return fake_triton
