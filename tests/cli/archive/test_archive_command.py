"""The options of `plates archive`."""

from typer.testing import CliRunner

from orchestrator.cli.app import app


def test_options_of_own_networks_are_refused_with_a_url() -> None:
    arguments = ["archive", "photos", "--out", "plates", "--url", "x:1", "--formats", "here.toml"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "plates: --formats: wanted without --url, got both; the server "
    )
