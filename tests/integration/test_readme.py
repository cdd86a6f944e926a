"""What README shows works as it stands there: every code block is run, or at least understood."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import cv2
import pytest
import typer

from orchestrator.cli.app import app
from tests.integration.conftest import InFront
from tests.samples import PROJECT, STREET, TEXTS, copy_of

TRAINING = ".venv-train/bin/"
"""Commands of the other environment, which this one cannot run."""
BOXES = {
    "A123BC77": (222, 336, 426, 380),
    "TO05577": (593, 635, 797, 682),
    "M456OP199": (860, 337, 1061, 383),
}
"""Where the plates of the street are, as README's table says, pixels."""


@dataclass(frozen=True)
class Block:
    """A code block of README: the language that it names, and its lines."""

    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Its command lines, comments left out."""
        lines = (line.partition(" #")[0].strip() for line in self.text.splitlines())
        return [line for line in lines if line]


def blocks() -> list[Block]:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    return [Block(*found) for found in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)]


def of(language: str) -> list[Block]:
    return [block for block in blocks() if block.language == language]


def plain() -> list[Block]:
    """The blocks of commands."""
    return [block for block in of("") if re.match(r"(make|cd|\.venv\S*/plates) ", block.text)]


def commands(beginning: str) -> list[str]:
    return [line for block in plain() for line in block.commands if line.startswith(beginning)]


def folder_with_pictures(folder: Path) -> Path:
    """A folder that has what the examples name."""
    (folder / "folder" / "inner").mkdir(parents=True)
    for name in ("car.jpg", "photo.jpg", "folder/inner/car.jpg"):
        shutil.copy(STREET, folder / name)
    (folder / "crops").mkdir()
    street = cv2.imread(str(STREET))
    for text, (x0, y0, x1, y1) in BOXES.items():
        cv2.imwrite(str(folder / "crops" / f"{text}.png"), street[y0 - 5 : y1 + 5, x0 - 9 : x1 + 9])
    return folder


def here(text: str, gateway: InFront) -> str:
    """The text with the addresses of the test's gateway, and the programs of this environment."""
    text = text.replace("localhost:8080", str(gateway.options.http))
    text = text.replace("localhost:8081", str(gateway.options.grpc))
    return text.replace(".venv/bin/", f"{Path(sys.executable).parent}/")


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_block_is_one_that_is_tested_here() -> None:
    drawings = [block for block in of("") if block not in plain()]
    assert (
        len(drawings) == 4
    )  # the table of `make demo`, the way of a request, the map's two halves
    assert {block.language for block in blocks()} == {"", "python", "sh"}
    assert len(of("python")) >= 3
    known = ("make ", ".venv/bin/plates ", TRAINING, "cd weights ")
    strange = [line for block in plain() for line in block.commands if not line.startswith(known)]
    assert strange == []


@pytest.mark.parametrize("block", of("python"), ids=lambda block: block.text.split("\n")[0])
def test_python_runs_and_reads_the_plates(gateway: InFront, tmp_path: Path, block: Block) -> None:
    printed = run([sys.executable, "-c", here(block.text, gateway)], folder_with_pictures(tmp_path))
    assert all(text in printed for text in TEXTS)


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
@pytest.mark.parametrize("shell", ["bash", "dash"])
@pytest.mark.parametrize("block", of("sh"), ids=["curl"])
def test_curl_reads_the_plates(gateway: InFront, tmp_path: Path, block: Block, shell: str) -> None:
    printed = run([shell, "-c", here(block.text, gateway)], folder_with_pictures(tmp_path))
    assert all(text in printed for text in TEXTS)


@pytest.mark.parametrize("command", commands(".venv/bin/plates recognize"))
def test_recognize_prints_and_draws(gateway: InFront, tmp_path: Path, command: str) -> None:
    line = here(command, gateway).split()
    printed = run(line, folder_with_pictures(tmp_path))
    assert printed.count("3 plates") == 2
    drawn = {str(path.relative_to(tmp_path / "drawn")) for path in tmp_path.rglob("drawn/**/*.jpg")}
    assert drawn == {"photo.jpg", "inner/car.jpg"}


@pytest.mark.parametrize("command", commands(".venv/bin/plates read-crop"))
def test_crops_are_read(gateway: InFront, tmp_path: Path, command: str) -> None:
    printed = run(here(command, gateway).split(), folder_with_pictures(tmp_path))
    assert all(f"{text}.png" in printed and text in printed for text in TEXTS)


def test_the_demo_prints_what_is_shown(tmp_path: Path) -> None:
    (shown,) = [block for block in of("") if "tests/data/street.jpg: 3 plates" in block.text]
    dry = run(["make", "--dry-run", "demo"], PROJECT)
    command = next(line for line in dry.splitlines() if line.startswith(".venv/bin/plates "))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "data").symlink_to(STREET.parent)
    line = command.replace(".venv/bin/", f"{Path(sys.executable).parent}/").split()
    assert columns(run(line, tmp_path)) == columns(shown.text)
    assert (tmp_path / "demo" / "street.jpg").is_file()


def columns(table: str) -> list[list[str]]:
    """The words of each line, numbers to one digit, because engines differ a little."""
    return [
        [f"{float(word):.1f}" if re.fullmatch(r"\d\.\d+", word) else word for word in line.split()]
        for line in table.strip().splitlines()
    ]


@pytest.mark.parametrize("command", commands("make "))
def test_make_knows_the_target(command: str) -> None:
    run(["make", "--dry-run", *command.split("&&")[0].split()[1:]], PROJECT)


@pytest.mark.parametrize(
    "command",
    [
        part.strip()
        for line in [*commands(".venv/bin/plates "), *commands(TRAINING), *commands("make ")]
        for part in line.split("&&")
        if "/plates " in part
    ],
)
def test_the_command_line_understands(command: str) -> None:
    context = click.Context(typer.main.get_command(app))
    name, found, rest = context.command.resolve_command(context, command.split()[1:])
    while isinstance(found, click.Group):
        name, found, rest = found.resolve_command(found.make_context(name, list(rest)), rest)
    found.make_context(name, list(rest), resilient_parsing=False)


def test_the_sums_of_the_weights_are_made_as_it_says(tmp_path: Path) -> None:
    (command,) = commands("cd weights")
    (copy_of("weights", tmp_path) / "SHA256SUMS").unlink()
    run(["sh", "-c", command], tmp_path)
    made = (tmp_path / "weights" / "SHA256SUMS").read_text().splitlines()
    assert sorted(made) == sorted((PROJECT / "weights" / "SHA256SUMS").read_text().splitlines())


@pytest.mark.parametrize("first", ["model_repository/", "rendering/"])
def test_the_map_names_what_is_there(first: str) -> None:
    (drawn,) = [block for block in of("") if block.text.startswith(first)]
    folder, named = PROJECT, []
    for indent, names in re.findall(r"^( *)((?:[\w./]+ )*[\w./]+)(?:  |$)", drawn.text, re.M):
        folder = folder if indent else PROJECT
        named += [folder / name for name in names.split()]
        folder = folder if indent else PROJECT / names
    assert len(named) >= 8
    assert [path for path in named if not path.exists()] == []
