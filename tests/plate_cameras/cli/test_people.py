"""The command `plates people`: people are added, changed and removed."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from plate_cameras.cli.people import people
from plate_cameras.configuration import Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.people.people import Person, StoredPerson

PASSWORD = "correct horse battery"


def run(command: str, folder: Path, *arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(people, [command, str(folder), *arguments], input=text)


def find(folder: Path, name: str) -> StoredPerson | None:
    with closing(open_store(Store(), folder)) as store:
        return store.people.find(name)


@pytest.fixture(scope="module")
def kept_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that has the administrator Anna; tests must not change it."""
    folder = tmp_path_factory.mktemp("store")
    result = run("add", folder, "anna", "--role", "administrator", text=f"{PASSWORD}\n")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def folder(kept_folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(kept_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_a_person_is_added_with_a_hash_which_a_new_password_changes(folder: Path) -> None:
    stored_person = find(folder, "anna")
    assert stored_person is not None
    assert stored_person.person == Person("anna", "administrator")
    assert stored_person.password_hash.startswith("$argon2id$v=19$m=47104,t=2,p=1$")
    assert run("password", folder, "anna", text="another long one\n").exit_code == 0
    assert find(folder, "anna") != stored_person


def test_people_are_listed(folder: Path) -> None:
    groups = ("--group", "north", "--group", "south")
    assert run("add", folder, "boris", *groups, text=f"{PASSWORD}\n").exit_code == 0
    assert run("disable", folder, "boris").exit_code == 0
    assert [" ".join(line.split()) for line in run("list", folder).stdout.splitlines()] == [
        "anna administrator all cameras",
        "boris viewer north, south disabled",
    ]


def test_a_disabled_person_may_log_in_again(folder: Path) -> None:
    assert "anna may not log in" in run("disable", folder, "anna").stderr
    assert "anna may log in" in run("disable", folder, "anna", "--undo").stderr
    stored_person = find(folder, "anna")
    assert stored_person is not None
    assert not stored_person.person.is_disabled


def test_the_last_administrator_can_be_removed_here_with_a_warning(folder: Path) -> None:
    result = run("remove", folder, "anna")
    assert result.exit_code == 0
    assert "nobody can administer all cameras now" in result.stderr
    assert find(folder, "anna") is None


@pytest.mark.parametrize(
    ("command", "name", "text", "message"),
    [
        pytest.param("add", "anna", PASSWORD, "there is a person 'anna' already", id="taken"),
        pytest.param("add", "Boris", PASSWORD, "name: wanted 1 to 64 small Latin", id="name"),
        pytest.param("add", "local", PASSWORD, "name: wanted 1 to 64 small Latin", id="reserved"),
        pytest.param("add", "boris", "short", "wanted 12 to 200 characters, got 5", id="short"),
        pytest.param("add", "boris", "borisborisboris", "without the person's name", id="itself"),
        pytest.param("add", "boris", "", "wanted 12 to 200 characters, got 0", id="no password"),
        pytest.param("password", "boris", PASSWORD, "there is no person 'boris'", id="unknown"),
        pytest.param("remove", "boris", "", "there is no person 'boris'", id="removed"),
    ],
)
def test_what_is_wrong_is_told(
    kept_folder: Path, command: str, name: str, text: str, message: str
) -> None:
    result = run(command, kept_folder, name, text=text)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
