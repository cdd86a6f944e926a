"""The steps of docs/pipelines.md work as written: a new chain is made, tested and served."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http

from orchestrator.serving.supervisor.local_server import on_free_ports, own_server
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_start import is_ready
from tests.samples import PROJECT
from tests.waiting import until
from workshop.rendering.scenery import scene

BLOCK = re.compile(r"^(?:`([^`\n]+)`:\n\n)?```\w*\n(.*?)^```$", re.M | re.S)
"""Pattern: a block of code, and the name of its file if it stands before the block."""
SERVES, ASKS = "/plates serve ", "/client.py "
REPOSITORY = "hide_plates/model_repository"


@dataclass
class PageReader:
    """Executes the steps of the page, in a folder that looks like a checkout."""

    folder: Path
    server_options: ServerOptions
    outputs: list[str] = field(default_factory=list)
    shown_texts: list[str] = field(default_factory=list)

    def follow(self, page: str) -> None:
        with ExitStack() as services:
            for file, text in BLOCK.findall(page):
                if file:
                    (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
                    (self.folder / file).write_text(text)
                elif not text.startswith((".venv/bin/", "mkdir ")):
                    self.shown_texts.append(text)
                elif SERVES in text:
                    services.enter_context(self.serve(text.strip()))
                else:
                    self.outputs += map(self.run, text.splitlines())

    def run(self, line: str) -> str:
        url = [self.server_options.http_url] if ASKS in line else []
        child = subprocess.run(
            [*words(line), *url], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert child.returncode == 0, child.stdout + child.stderr
        return child.stdout

    @contextmanager
    def serve(self, line: str) -> Iterator[None]:
        flags = ["--one-model", "--pictures=1"]  # they start sooner
        flags += [
            f"--{name.replace('_', '-')}={getattr(self.server_options, name)}"
            for name in ("http_port", "grpc_port", "metrics_port")
        ]
        with subprocess.Popen([*words(line), *flags], cwd=self.folder) as process:
            try:
                until(lambda: is_ready(self.server_options, ["hide_plates"]), "a server")
                yield
            finally:
                process.send_signal(signal.SIGINT)


def words(line: str) -> list[str]:
    """Return a command line with the programs of this environment."""
    return line.replace(".venv/bin", str(Path(sys.executable).parent)).split()


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> PageReader:
    """A reader who has executed all steps of the page."""
    folder = tmp_path_factory.mktemp("checkout")
    names = {path.name for path in PROJECT.iterdir() if not path.name.startswith(".")}
    for name in names - {"hide_plates"}:
        (folder / name).symlink_to(PROJECT / name)
    reader = PageReader(folder, on_free_ports(ServerOptions()))
    reader.follow((PROJECT / "docs" / "pipelines.md").read_text(encoding="utf-8"))
    return reader


@pytest.fixture(scope="module")
def url(reader: PageReader) -> Iterator[str]:
    options = ServerOptions(beside=(reader.folder / REPOSITORY,), pictures=1, one_model=True)
    with own_server(options) as server_options:
        yield server_options.http_url


def infer(url: str, model: str, output: str, picture: np.ndarray) -> np.ndarray:
    tensor = tritonclient.http.InferInput("picture", list(picture.shape), "UINT8")
    tensor.set_data_from_numpy(picture)
    with tritonclient.http.InferenceServerClient(url) as client:
        return client.infer(model, [tensor]).as_numpy(output)


def test_every_command_does_what_is_said(reader: PageReader) -> None:
    file_list, test_output, client, network, folder, second_test = reader.outputs
    assert file_list.splitlines()[-1] == "hide_plates/test_hide_plates.py"
    assert "2 passed" in test_output
    assert client.endswith("3 plates hidden in hidden.png\n")
    assert (network, folder) == ("", "")
    assert "2 passed" in second_test


def test_what_is_shown_is_what_is_printed(reader: PageReader) -> None:
    assert len(reader.shown_texts) == 1
    assert reader.shown_texts[0] in reader.outputs
    assert (reader.folder / "hidden.png").is_file()


def test_plates_are_coarse_and_the_rest_is_as_it_was(url: str) -> None:
    street = scene(["A123BC77"])
    x0, y0, x1, y1 = street.xyxy[0].round().astype(int)
    answer = infer(url, "hide_plates", "hidden", street.picture)
    inside = answer[y0 + 5 : y1 - 5, x0 + 5 : x1 - 5]
    assert inside.max() > 0
    assert len(np.unique(inside.reshape(-1, 3), axis=0)) < 40
    assert (answer[: y0 - 20] == street.picture[: y0 - 20]).all()


def test_the_ensemble_makes_all_of_it_coarse(url: str) -> None:
    street = scene(["A123BC77"]).picture
    coarse = infer(url, "hide_all", "coarse", street)
    assert coarse.shape == street.shape
    assert (coarse[:24, :24] == coarse[0, 0]).all()
