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
def photo_folder(tmp_path: Path) -> Path:
    return write_photos(tmp_path, ["1"] * 40)


def read_all(terminal: int) -> str:
    """Return everything that was written to a terminal before it was closed."""
    screen = b""
    while True:
        try:
            screen += os.read(terminal, 65536)
        except OSError:
            return ESCAPES.sub(b"", screen).decode().replace("\r", "\n")


@pytest.mark.parametrize("is_piped", [False, True], ids=["all-of-it", "results-piped"])
def test_a_bar_tells_how_far_it_is(photo_folder: Path, *, is_piped: bool) -> None:
    terminal, end = pty.openpty()
    stdout = subprocess.PIPE if is_piped else end
    with subprocess.Popen(
        command(str(photo_folder)), env=ENVIRONMENT, stdout=stdout, stderr=end, stdin=end
    ) as process:
        os.close(end)
        screen = read_all(terminal)
        output = process.stdout.read().decode() if is_piped else screen
    os.close(terminal)
    assert process.returncode == 0
    assert re.search(r"\d+ of 40 pictures .* [\d.]+ a second +\d:\d\d:\d\d left", screen)
    assert re.search(r"^40 pictures in .*: 40 plates found, 40 read$", screen, re.M)
    assert output.count("A001AA77") == 40
    assert ("A001AA77" in screen) is not is_piped


def test_there_is_no_bar_in_a_pipe(photo_folder: Path) -> None:
    process = subprocess.run(
        command(str(photo_folder)), env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"40 pictures in .*: 40 plates found, 40 read\n", process.stderr)
