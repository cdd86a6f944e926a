"""One server for the models of several examples, which saves their starts."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from examples.bls import REPOSITORY as BLS
from examples.digits.__main__ import REPOSITORY as DIGITS
from examples.ocr.__main__ import REPOSITORY as OCR
from examples.stream.__main__ import REPOSITORY as STREAM
from orchestrator.cli.new_pipeline import write_pipeline
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions

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
        shutil.copytree(BLS / "plates_bls", self.folder / kind / f"bls_{kind}")
        self._plant(self.folder / kind, f"bls_{kind}", "read", fault)

    def add_new_pipeline(self) -> None:
        write_pipeline("hide", self.folder)
        self._plant(self.folder / "hide" / "model_repository", "hide", "hide", FAULTS["plain"])

    def _plant(self, repository: Path, name: str, function: str, fault: str) -> None:
        model = repository / name / "1" / "model.py"
        self.repositories.append(repository)
        self.lines[name] = f'{model}", line {plant(model, function, fault)}, in {function}'


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    faulty = Faulty(tmp_path_factory.mktemp("faulty"))
    for kind, fault in FAULTS.items():
        faulty.add(kind, fault)
    faulty.add_new_pipeline()
    return faulty


@pytest.fixture(scope="session")
def server(faulty: Faulty) -> Iterator[ServerOptions]:
    """The server; it processes one picture at once."""
    beside = (BLS, DIGITS, OCR, STREAM, *faulty.repositories)
    with own_server(ServerOptions(beside=beside, pictures=1)) as options:
        yield options


def plant(model: Path, function: str, fault: str) -> int:
    """Insert a call of a faulty function at the start of another; return its line number."""
    lines = model.read_text().splitlines(keepends=True)
    index = next(
        number for number, line in enumerate(lines) if line.strip().startswith(f"def {function}(")
    )
    call = next(
        number for number, line in enumerate(lines[index + 1 :], index + 1) if '"""' not in line
    )
    indent = lines[call][: len(lines[call]) - len(lines[call].lstrip())]
    lines.insert(call, f"{indent}planted()\n")
    text = "".join(lines) + f"\n\ndef planted():\n{fault}"
    model.write_text("import json\nimport numpy as np\n" + text)
    return call + 3
