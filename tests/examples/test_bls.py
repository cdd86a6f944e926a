"""A user's own model that calls yolo, stn and lprnet, and the messages about its errors."""

import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tritonclient.http
from tritonclient.utils import InferenceServerException

from examples.bls import REPOSITORY
from examples.bls.__main__ import TEXTS, ask, main
from orchestrator.cli.new_pipeline import write_pipeline
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.rendering.scenery import scene

MODEL = REPOSITORY / "plates_bls" / "1" / "model.py"
FAULTS = {
    "plain": "    return {}['no such key']\n",
    "deep": "    json.loads('[' * 100000)\n",
    "chained": """    try:
        np.zeros(3).reshape(2, 2)
    except ValueError as error:
        raise RuntimeError("x" * 5000) from error
""",
}
"""Errors in a user's function: a plain one, one in a library, and a long one with a cause."""


def test_the_model_is_some_sixty_lines() -> None:
    assert len(MODEL.read_text().splitlines()) <= 70


@dataclass
class Faulty:
    """Repositories of models with errors in a user's function.

    Attributes:
        folder: The folder that has them.
        repositories: One for each model.
        lines: The place of each error, by model, as a traceback has it.
    """

    folder: Path
    repositories: list[Path] = field(default_factory=list)
    lines: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, fault: str) -> None:
        """Copy the example, with an error."""
        shutil.copytree(REPOSITORY / "plates_bls", self.folder / kind / f"bls_{kind}")
        self._plant(self.folder / kind, f"bls_{kind}", "read", fault)

    def add_new_pipeline(self) -> None:
        write_pipeline("hide", self.folder)
        self._plant(self.folder / "hide" / "model_repository", "hide", "hide", FAULTS["plain"])

    def _plant(self, repository: Path, name: str, function: str, fault: str) -> None:
        model = repository / name / "1" / "model.py"
        self.repositories.append(repository)
        self.lines[name] = f'{model}", line {plant(model, function, fault)}, in {function}'


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    faulty = Faulty(tmp_path_factory.mktemp("faulty"))
    for kind, fault in FAULTS.items():
        faulty.add(kind, fault)
    faulty.add_new_pipeline()
    return faulty


@pytest.fixture(scope="module")
def url(faulty: Faulty) -> Iterator[str]:
    beside = (REPOSITORY, *faulty.repositories)
    with own_server(ServerOptions(beside=beside, pictures=1)) as served:
        yield served.http_url


@pytest.mark.server
def test_plates_are_found_and_read(url: str) -> None:
    street = scene(TEXTS)
    boxes, texts = ask(url, street.picture)
    assert sorted(texts) == sorted(TEXTS)
    order, wanted = boxes[:, 0].argsort(), street.xyxy[street.xyxy[:, 0].argsort()]
    np.testing.assert_allclose(boxes[order], wanted, atol=12)


@pytest.mark.server
def test_a_picture_without_plates_has_empty_outputs(url: str) -> None:
    boxes, texts = ask(url, np.full((300, 400, 3), 90, np.uint8))
    assert (boxes.shape, texts) == ((0, 4), [])


@pytest.mark.server
def test_the_example_prints_the_plates(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of the other tests, which has the same model, stands in for its own."""
    asked = []

    def own_server(options: ServerOptions) -> nullcontext[SimpleNamespace]:
        asked.append(options)
        return nullcontext(SimpleNamespace(http_url=url))

    monkeypatch.setattr("examples.bls.__main__.own_server", own_server)
    main([])
    assert [options.beside for options in asked] == [(REPOSITORY,)]
    printed = capsys.readouterr().out
    assert printed.startswith("rendered: 2 plates\n")
    assert all(text in printed for text in TEXTS)


def plant(model: Path, function: str, fault: str) -> int:
    """Insert a call of a faulty function at the start of another; return its line number."""
    lines = model.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.strip().startswith(f"def {function}("))
    call = next(i for i, line in enumerate(lines[at + 1 :], at + 1) if '"""' not in line)
    indent = lines[call][: len(lines[call]) - len(lines[call].lstrip())]
    lines.insert(call, f"{indent}planted()\n")
    text = "".join(lines) + f"\n\ndef planted():\n{fault}"
    model.write_text("import json\nimport numpy as np\n" + text)
    return call + 3


@pytest.mark.server
def test_an_error_in_the_user_s_model_shows_his_file_and_line(
    url: str, faulty: Faulty, caplog: pytest.LogCaptureFixture
) -> None:
    seen = {model: refusal_of(url, model) for model in faulty.lines}
    assert all(error.status() == "500" for error in seen.values())
    assert seen["hide"].message() == "KeyError: 'no such key'"
    assert "RecursionError: maximum recursion depth exceeded" in seen["bls_deep"].message()
    logged = [json.loads(line) for line in caplog.messages if '"traceback"' in line]
    for name, error in seen.items():
        (failure,) = [one for one in logged if faulty.lines[name] in one["traceback"]]
        assert failure["reason"] == "internal"
        assert failure["message"][:100] == error.message()[:100]
        assert failure["traceback"].rstrip().endswith(error.message()[-20:])


def refusal_of(url: str, model: str) -> InferenceServerException:
    sent = tritonclient.http.InferInput("picture", [4, 4, 3], "UINT8")
    sent.set_data_from_numpy(np.zeros((4, 4, 3), np.uint8))
    with tritonclient.http.InferenceServerClient(url) as client:
        with pytest.raises(InferenceServerException) as error:
            client.infer(model, [sent])
        return error.value
