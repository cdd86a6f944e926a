import subprocess
import sys

import pytest

import orchestrator


@pytest.mark.parametrize("name", orchestrator.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(orchestrator, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Missing'"):
        orchestrator.Missing  # noqa: B018


def test_the_client_needs_no_torch() -> None:
    code = "import sys, orchestrator; orchestrator.PlateClient; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
