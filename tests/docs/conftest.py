"""The site, built once for all tests of the pages."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.samples import PROJECT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built in strict mode: a broken link or anchor is an error."""
    pytest.importorskip("zensical")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, PROJECT / "scripts" / "build_docs.py", folder]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / "html"
