"""The command `plates doctor`, here and where only a client is installed."""

import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.cli.doctor import diagnosis
from tests.client.client_only import ClientOnly

HEAVY = {"torch", "openvino", "cv2", "tritonclient"}
COMMAND = f"""
import sys
from orchestrator.cli.app import app
try:
    app(["doctor"])
finally:
    print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(("hindrances", "status"), [((), 0), (("one",), 1)])
def test_the_exit_code_says_whether_a_server_would_start(
    monkeypatch, hindrances: tuple[str, ...], status: int
) -> None:
    monkeypatch.setattr(diagnosis, "find_hindrances", lambda *_: hindrances)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == status
    assert ("A server would start." in done.stdout) is not bool(status)
    told = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    assert told["would_start"] is not bool(status)


def test_no_heavy_package_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND], capture_output=True, text=True, check=False
    )
    assert "This machine" in done.stdout
    assert done.stderr == "[]\n"


def test_a_client_alone_is_told_what_serving_needs(client_only: ClientOnly) -> None:
    done = client_only.in_checkout().plates("doctor")
    assert done.returncode == 1
    assert done.stderr == ""
    assert re.search(r"- packages: wanted .*nvidia-pytriton, .*torch, .* for serving", done.stdout)
    assert "A server would use" not in done.stdout
