"""Mutants of a small module: tests notice some changes of its code, and miss others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "mutants.py"
MODULE = '''
MAX_AGE = 3

def is_adult(age: int) -> bool:
    """Tell by the age."""
    return age >= 18
'''
TESTS = """
from shop.ages import is_adult

def test_an_adult_is_no_child() -> None:
    assert is_adult(18)
    assert {refused}
"""


@pytest.fixture
def mutants(tmp_path: Path):
    """Run the script on a project of one module and one test."""

    def run(
        refused: str,
        *arguments: str,
        other: str = "is_adult(18)",
        other_file: str = "test_other.py",
    ) -> subprocess.CompletedProcess[str]:
        """Run it with what the mirror test and another one of the folder claim."""
        files = {"shop/ages.py": MODULE, "tests/shop/test_ages.py": TESTS}
        files[f"tests/shop/{other_file}"] = TESTS.replace("{refused}", other)
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text.format(refused=refused))
        for slow in ("cv2", "torch"):  # the script imports them beforehand, these in their place
            (tmp_path / f"{slow}.py").touch()
        command = [sys.executable, SCRIPT, "shop.ages", *arguments]
        environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)

    return run


def test_changes_that_a_test_notices_are_killed_and_others_are_shown(mutants) -> None:
    *_, survivor, total = mutants("not is_adult(16)").stdout.splitlines()
    assert survivor == "shop/ages.py:6: 18  ->  17"
    assert total == "shop.ages: 3 of 4 killed (75%)"


def test_tests_that_fail_without_a_change_are_refused(mutants) -> None:
    assert "wanted tests that pass" in mutants("is_adult(16)").stderr


def test_other_tests_of_the_folder_see_changes_too(mutants) -> None:
    output = mutants("not is_adult(16)", other="not is_adult(17)").stdout
    assert output.endswith("shop.ages: 4 of 4 killed (100%)\n")


def test_other_tests_of_the_folder_run_only_if_they_are_named(mutants) -> None:
    left_out = mutants("not is_adult(16)", "--only", other="not is_adult(17)")
    assert "3 of 4 killed" in left_out.stdout
    with_its_name = mutants(
        "not is_adult(16)", "tests/shop/test_other.py", "--only", other="not is_adult(17)"
    )
    assert "4 of 4 killed" in with_its_name.stdout


def test_tests_in_a_folder_of_the_modules_name_mirror_it(mutants) -> None:
    output = mutants(
        "not is_adult(16)",
        "--only",
        other="not is_adult(17)",
        other_file="ages/test_limits.py",
    ).stdout
    assert output.endswith("shop.ages: 4 of 4 killed (100%)\n")
