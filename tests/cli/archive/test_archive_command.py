"""The options of `plates archive`."""

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--device", "cpu"),
        ("--engine", "openvino"),
        ("--weights", "here"),
        ("--formats", "here.toml"),
    ],
)
def test_options_of_own_networks_are_refused_with_a_url(option: str, value: str) -> None:
    arguments = ["archive", "photos", "--out", "plates", "--url", "x:1", option, value]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"plates: {option}: wanted without --url, got both; the server ")
