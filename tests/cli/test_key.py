"""`plates key` adds and removes keys of a file, and leaves the rest unchanged."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.cli.key import without_table
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.api_keys import read_keys
from orchestrator.serving.gateway.policy.clients import GATE, USUAL, Client
from tests.client.client_only import ClientOnly
from tests.samples import PROJECT

LIMITS = Limits(client_calls=5, client_rate=7.0)


def run(file: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["key", "--keys", str(file), *arguments])


def table(name: str, digit: str) -> str:
    return f'[{name}]\nsha256 = "{digit * 64}"\n'


A = table("a", "a")


def test_a_first_key_makes_the_file_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    result = run(file, "gate-north")
    assert (result.exit_code, stat.S_IMODE(file.stat().st_mode)) == (0, 0o600)
    key = result.stdout.removesuffix("\n")
    assert read_keys(file).client_of(key, LIMITS) == Client("key:gate-north", 5, 7.0, USUAL)
    assert key not in file.read_text()
    assert result.stderr.count("\n") == 1


def test_a_key_is_random_and_marked_as_ours(tmp_path: Path) -> None:
    keys = [run(tmp_path / "keys.toml", name).stdout.strip() for name in ("a", "b")]
    assert [(key[:7], len(key)) for key in keys] == [("plates_", 50)] * 2  # 43 signs of 6 bits
    assert keys[0] != keys[1]


def test_a_key_has_the_quotas_the_role_and_the_groups_that_were_given(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    quotas = ["--priority", "gate", "--calls", "8", "--rate", "20", "--expires", "2999-01-01"]
    key = run(file, "north", *quotas).stdout.strip()
    assert read_keys(file).client_of(key, LIMITS) == Client("key:north", 8, 20.0, GATE)
    assert read_keys(file).by_name["north"].expires == "2999-01-01"
    key = run(file, "desk", "--role", "editor", "--group", "n", "--group", "s").stdout.strip()
    client = read_keys(file).client_of(key, LIMITS)
    assert (client.role, client.groups) == ("editor", ("n", "s"))


@pytest.mark.parametrize("content", [f"# ours\n{table('a', 'a')}", table("a", "a").rstrip("\n")])
def test_earlier_content_of_the_file_stays(tmp_path: Path, content: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(content)
    file.chmod(0o640)
    assert run(file, "b").exit_code == 0
    assert file.read_text().startswith(content + "\n")
    assert [*read_keys(file).by_name] == ["a", "b"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        pytest.param(A, ["a"], "wanted a name that no key has, got a", id="taken"),
        pytest.param(A, ["B"], "name: wanted small letters, digits and hyphens", id="name"),
        pytest.param(A, ["b", "--priority", "vip"], "priority: wanted one of gate", id="priority"),
        pytest.param(A, ["b", "--role", "boss"], "role: wanted one of sender, viewer", id="role"),
        pytest.param(A, ["b", "--group", "x"], "groups: wanted a role beside", id="group"),
        pytest.param(A, ["b", "--calls", "0"], "calls: wanted 1 to", id="calls"),
        pytest.param(A, ["b", "--expires", "soon"], "expires: wanted a date", id="expires"),
        pytest.param(A, ["b", "--remove"], "wanted some of a, got b", id="remove"),
        pytest.param("[a", ["b"], "wanted TOML", id="file"),
        pytest.param(
            f'a.sha256 = "{"a" * 64}"\n', ["a", "--remove"],
            "wanted a table under [a], got it written otherwise", id="written-otherwise",
        ),
    ],
)  # fmt: skip
def test_a_wrong_argument_or_file_is_an_error_and_nothing_is_written(
    tmp_path: Path, text: str, arguments: list[str], message: str
) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(text)
    result = run(file, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("plates: ")
    assert message in result.stderr
    assert file.read_text() == text


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    result = run(tmp_path / "none" / "keys.toml", "a")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "keys.toml: cannot be read and written: No such file" in result.stderr


@pytest.mark.parametrize("output", [">/dev/full", ">&-"], ids=["full", "closed"])
def test_a_key_that_cannot_be_shown_is_not_kept(output: str, tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    code = "from orchestrator.cli.app import app; app()"
    command = [sys.executable, "-c", code, "key", "--keys", str(file), "gate"]
    shell = ["sh", "-c", f'exec "$0" "$@" {output}']
    result = subprocess.run([*shell, *command], stderr=subprocess.PIPE, cwd=PROJECT)
    assert result.returncode == 2, result.stderr
    assert "gate" not in file.read_text()


def test_a_key_that_was_added_is_taken_out_without_a_trace(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(table("a", "a"))
    file.chmod(0o640)
    run(file, "b")
    assert run(file, "b", "--remove").exit_code == 0
    assert file.read_text() == table("a", "a")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["keys.toml"]


def test_the_file_behind_a_link_is_written(tmp_path: Path) -> None:
    file, link = tmp_path / "real.toml", tmp_path / "keys.toml"
    file.write_text(table("a", "a"))
    link.symlink_to(file)
    assert run(link, "a", "--remove").exit_code == 0
    assert (file.read_text(), link.is_symlink()) == ("", True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("[b]\nx = 1\n", "[b]\nx = 1\n", id="another"),
        pytest.param("[a]\nx = 1\n[b]\n", "[b]\n", id="first"),
        pytest.param("[b]\n\n[a] # old\n# its own\nx = 1", "[b]\n", id="last"),
        pytest.param(
            "# of a\n[a]\nx = 1\n\n# of b\n[b]\n", "# of a\n\n# of b\n[b]\n", id="comments"
        ),
        pytest.param('[b]\r\n\r\n[ "a" ]\r\nx = 1\r\n', "[b]\r\n", id="crlf"),
    ],
)
def test_only_the_table_is_left_out(text: str, expected: str) -> None:
    assert without_table(text, "a") == expected


def test_a_client_alone_can_make_one(client_only: ClientOnly, tmp_path: Path) -> None:
    assert client_only.plates("key", "a", "--keys", tmp_path / "keys.toml").returncode == 0
    assert [*read_keys(tmp_path / "keys.toml").by_name] == ["a"]
