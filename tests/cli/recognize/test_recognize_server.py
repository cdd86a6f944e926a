"""`plates recognize`: its own server, or that of a URL and a key."""

from contextlib import nullcontext

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from tests.cli.recognize.fake_client import FakeClient
from tests.samples import PROJECT, STREET


class TestOwnServer:
    @pytest.mark.parametrize(
        ("option", "value"), [("--device", "cpu"), ("--threads", "2"), ("--formats", "here.toml")]
    )
    def test_its_options_are_refused_with_a_url(self, run, option: str, value: str) -> None:
        result = run(STREET, option, value)
        assert result.exit_code == 2
        assert result.stderr == (
            f"plates: {option}: wanted without --url, got both; the server at somewhere:1 was "
            "started with options of its own\n"
        )
        assert FakeClient.calls == []

    def test_a_variable_is_not_refused(self, run, monkeypatch) -> None:
        monkeypatch.setenv("PLATE_FORMATS", "here.toml")
        assert run(STREET).exit_code == 0

    def test_formats_are_for_a_watchlist(self, run, tmp_path) -> None:
        (tmp_path / "list.txt").write_text("A001AA77\n")
        formats = PROJECT / "weights" / "formats.toml"
        result = run(STREET, "--watchlist", "list.txt", "--formats", formats)
        assert result.exit_code == 0
        assert "ON THE WATCHLIST: A001AA77" in result.stdout


@pytest.fixture
def clients(run, monkeypatch) -> list[FakeClient]:
    """The clients that the command creates."""
    clients: list[FakeClient] = []

    def make(url: str, **options: object) -> FakeClient:
        clients.append(FakeClient(url, **options))
        return clients[-1]

    monkeypatch.setattr("orchestrator.client.PlateClient", make)
    return clients


def test_a_key_comes_from_the_command_line_or_the_environment(run, clients, monkeypatch) -> None:
    run(STREET)
    run(STREET, "--key", "plk_given", "--timeout", "5", "--retries", "2")
    monkeypatch.setenv("PLATES_KEY", "plk_set")
    run(STREET)
    assert [(client.url, client.key) for client in clients] == [
        ("somewhere:1", None),
        ("somewhere:1", "plk_given"),
        ("somewhere:1", "plk_set"),
    ]
    assert (clients[1].timeout_s, clients[1].retries) == (5.0, 2)


def test_a_server_of_its_own_is_shown_no_key(run, clients, monkeypatch) -> None:
    own = "orchestrator.cli.chosen_server.reach_server"
    monkeypatch.setattr(own, lambda url, **options: nullcontext("own:1"))
    CliRunner().invoke(app, ["recognize", str(STREET), "--key", "plk_given"])
    assert [(client.url, client.key) for client in clients] == [("own:1", None)]


def test_a_server_for_one_picture_has_one_worker(run, clients, monkeypatch) -> None:
    picture_counts = []

    def reach(url: str | None, **options: object) -> nullcontext[str]:
        picture_counts.append(options["pictures"])
        return nullcontext("own:1")

    monkeypatch.setattr("orchestrator.cli.chosen_server.reach_server", reach)
    for names in ([str(STREET)], [str(STREET), str(STREET)], [str(STREET.parent / "*.jpg")]):
        CliRunner().invoke(app, ["recognize", *names])
    assert picture_counts == [1, 0, 0]


def test_an_invalid_key_is_one_sentence_without_it() -> None:
    arguments = ["recognize", str(STREET), "--url", "localhost:9", "--key", "hush hush"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert result.output.startswith("plates: key: wanted printable ASCII")
    assert "hush" not in result.output


def test_a_server_that_is_not_there_is_told_with_what_to_do() -> None:
    result = CliRunner().invoke(app, ["recognize", str(STREET), "--url", "localhost:1"])
    assert result.exit_code == 2
    message = (
        "cannot connect to localhost:1: connection refused. Is the server running? (plates serve)"
    )
    assert message in result.stderr
