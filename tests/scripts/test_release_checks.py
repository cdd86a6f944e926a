"""All checks before a release by one command of make."""

import os
import subprocess

import pytest

from tests.samples import PROJECT


@pytest.mark.parametrize(
    ("checks", "status", "table"),
    [
        pytest.param("help 'help OPTIONS=--x'", 0, ["passed help", "passed help OPTIONS=--x"]),
        pytest.param("no-such help", 2, ["FAILED no-such", "passed help"]),
    ],
)
def test_each_check_is_run_and_listed_also_after_a_failure(
    checks: str, status: int, table: list[str]
) -> None:
    command = ["make", "before-release", f"RELEASE_CHECKS={checks}"]
    outside = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    process = subprocess.run(
        command, cwd=PROJECT, env=outside, capture_output=True, text=True, check=False
    )
    rows = [line.split() for line in process.stdout.splitlines()[-len(table) :]]
    assert [" ".join([result, *check]) for result, _, unit, *check in rows if unit == "s"] == table
    assert process.returncode == status
