"""Commands continue when their output cannot be written, or a stream is closed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.slow_command import ENVIRONMENT, command, write_photos

SAYS = """
from orchestrator.cli.standard_streams import say
say('ready', err={err}); say('on', err={err})
"""
PRINTS = """
import typer
from orchestrator.cli.flags import show_errors

def main() -> None:
    with show_errors(verbose=False):
        typer.echo("A123BC77")

typer.run(main)
"""
OPENS = """
import os
from orchestrator.cli.standard_streams import open_closed_streams
open_closed_streams()
descriptor = os.open(os.devnull, os.O_RDONLY)
os.system(f'echo heard >&1 && echo {descriptor} > "$TOLD"')
"""


@pytest.mark.parametrize("err", [False, True])
def test_a_full_disk_ends_nothing(*, err: bool) -> None:
    with Path("/dev/full").open("w") as full:
        streams = {"stderr" if err else "stdout": full}
        process = subprocess.run(
            [sys.executable, "-c", SAYS.format(err=err)], check=False, **streams
        )
    assert process.returncode == 0


def test_results_for_which_there_is_no_space_are_told_in_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [sys.executable, "-c", PRINTS],
            check=False, stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    sentence = "plates: standard output: cannot be used: No space left on device\n"
    assert (process.returncode, process.stderr) == (2, sentence)


def test_a_reader_that_hung_up_ends_nothing() -> None:
    code = f"import sys; sys.stdin.read(); {SAYS.format(err=False)}"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.close()
    assert process.returncode == 0


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, OPENS], check=True
    )
    assert int((tmp_path / "told").read_text()) > 2


def run_closed(closed: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `plates recognize` with closed standard streams."""
    return subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {closed}', *command(*arguments)],
        check=False, env=ENVIRONMENT, capture_output=True, text=True,
    )  # fmt: skip


def test_results_for_a_closed_output_do_not_go_into_a_file_of_others(tmp_path: Path) -> None:
    objects = tmp_path / "objects.jsonl"
    process = run_closed(
        ">&-", str(write_photos(tmp_path, ["1"])), "--jsonl", str(objects), "--csv", "-"
    )
    assert process.returncode == 2
    assert process.stderr == "plates: -: cannot be written: Bad file descriptor\n"
    assert objects.read_text() == ""


def test_a_closed_input_is_an_empty_one() -> None:
    process = run_closed("<&-", "--from-file", "-")
    assert process.returncode == 2
    assert process.stderr.startswith("0 pictures in ")
