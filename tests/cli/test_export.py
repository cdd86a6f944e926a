"""`plates export` shows its progress, or says what is missing."""

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from orchestrator.cli.app import app
from tests.samples import PROJECT, copy_of

WRITES_NOTHING = """
import sys, types
export = types.SimpleNamespace(write_network=lambda *_: None)
sys.modules["orchestrator.networks.export"] = export  # the real one imports PyTorch
from orchestrator.cli.app import app
app()
"""


def test_an_export_is_announced(tmp_path: Path) -> None:
    repository = copy_of("model_repository", tmp_path)
    process = subprocess.run(
        [sys.executable, "-c", WRITES_NOTHING, "export", "--engine=torchscript",
         f"--model-repository={repository}"],
        cwd=PROJECT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert "exporting yolo, stn, lprnet, " in process.stderr


def test_missing_weights_are_one_sentence(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["export", "--weights", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert result.output.startswith("plates: weights: no such folder: ")
    assert result.output.count("\n") == 1
