"""A repository from `plates export --out` is served without changes."""

import subprocess
from pathlib import Path

import pytest

from orchestrator import PlateClient
from orchestrator.networks.engines import Engine
from orchestrator.serving.supervisor.local_server import on_free_ports
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_start import run_server
from tests.samples import PLATES, STREET, TEXTS


def test_its_engine_reads_the_plates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository's path is relative, not ASCII, and has characters that separate lists."""
    engine = Engine.TORCHSCRIPT  # OpenVINO's is in every other server
    monkeypatch.chdir(tmp_path)
    out = Path("модели a;b")
    command = [PLATES, "export", "--engine", engine.value, "--out", out, "--pictures", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(out)
    options = on_free_ports(ServerOptions(repository=out, engine=engine, pictures=1))
    with run_server(options), PlateClient(options.http_url) as client:
        assert set(client.recognize(STREET).texts) == set(TEXTS)
