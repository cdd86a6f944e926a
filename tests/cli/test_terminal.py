"""Output of `plates recognize` on a pseudo-terminal."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.slow_command import ENVIRONMENT, command, write_photos

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return write_photos(tmp_path, ["1"] * 40)


def read_all(terminal: int) -> str:
    """Return everything that was written to a terminal before it was closed."""
    said = b""
    while True:
        try:
            said += os.read(terminal, 65536)
        except OSError:
            return ESCAPES.sub(b"", said).decode().replace("\r", "\n")


@pytest.mark.parametrize("is_piped", [False, True], ids=["all-of-it", "results-piped"])
def test_a_bar_tells_how_far_it_is(photos: Path, *, is_piped: bool) -> None:
    terminal, end = pty.openpty()
    output = subprocess.PIPE if is_piped else end
    with subprocess.Popen(
        command(str(photos)), env=ENVIRONMENT, stdout=output, stderr=end, stdin=end
    ) as process:
        os.close(end)
        said = read_all(terminal)
        printed = process.stdout.read().decode() if is_piped else said
    os.close(terminal)
    assert process.returncode == 0
    assert re.search(r"\d+ of 40 pictures .* [\d.]+ a second +\d:\d\d:\d\d left", said)
    assert re.search(r"^40 pictures in .*: 40 plates found, 40 read$", said, re.M)
    assert printed.count("A001AA77") == 40
    assert ("A001AA77" in said) is not is_piped


def test_there_is_no_bar_in_a_pipe(photos: Path) -> None:
    done = subprocess.run(
        command(str(photos)), env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"40 pictures in .*: 40 plates found, 40 read\n", done.stderr)
