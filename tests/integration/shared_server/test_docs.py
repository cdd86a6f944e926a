"""Code blocks of the pages that call a server; each is run as it is written.

tests/docs/test_code_blocks.py checks all other blocks.
"""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import cv2
import pytest

from orchestrator.networks.weights import LISTED
from tests.docs.blocks import PAGES, CodeBlock, blocks, blocks_of, command_lines
from tests.integration.conftest import InFront
from tests.samples import PROJECT, STREET, TEXTS, copy_of

SERVER = "localhost:8000"
BOXES = {
    "A123BC77": (222, 336, 426, 380),
    "TO05577": (593, 635, 797, 682),
    "M456OP199": (860, 337, 1061, 383),
}
"""Boxes of the street's plates in pixels, from the table of the first page."""
ASKING = [
    page
    for page in PAGES
    if any(SERVER in block.text for block in blocks_of(page) if block.language == "python")
]
BEGINNING = re.compile(r"(curl |printf |\S*plates (?:recognize|read-crop) )")
VARIABLE = re.compile(r"\$\w")
LINES = sorted(
    {
        line.partition(" #")[0].strip()
        for block in blocks("sh")
        for line in command_lines(block.text)
        if BEGINNING.match(line) and SERVER in line and not VARIABLE.search(line)
    }
)
"""Commands that call a server, except those with a key, which the server does not know."""
COPIES = (
    "car",
    "van",
    "photo",
    "folder/a",
    "folder/b",
    "photos/car",
    "gate/car",
    "tests/data/street",
)
"""File names of pictures on the pages."""
IMPORT = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder with the files that the pages name: pictures, crops, a clip, a list of plates."""
    for name in COPIES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(STREET, tmp_path / f"{name}.jpg")
    street = cv2.imread(str(STREET))
    (tmp_path / "crops").mkdir()
    for text, (x0, y0, x1, y1) in BOXES.items():
        crop = street[y0 - 5 : y1 + 5, x0 - 9 : x1 + 9]
        cv2.imwrite(str(tmp_path / "crops" / f"{text}.png"), crop)
    shutil.copy(tmp_path / "crops" / "A123BC77.png", tmp_path / "crop.png")
    write_clip(street, tmp_path / "camera.mp4")
    (tmp_path / "wanted.txt").write_text("A123BC77 blue van\n")
    return tmp_path


def write_clip(picture: cv2.typing.MatLike, file: Path) -> None:
    """Write a clip of four equal frames.

    FFmpeg recognises its type by the content, not the name.
    """
    film = cv2.VideoWriter(
        str(file.with_suffix(".avi")), cv2.VideoWriter.fourcc(*"MJPG"), 5, picture.shape[1::-1]
    )
    for _ in range(4):
        film.write(picture)
    film.release()
    file.with_suffix(".avi").rename(file)


def here(text: str, gateway: InFront) -> str:
    """Return the text with the test gateway's addresses and this environment's programs."""
    text = text.replace(f"{SERVER}/metrics", f"{gateway.options.metrics}/metrics")
    text = text.replace(SERVER, str(gateway.options.http))
    text = text.replace("localhost:8001", str(gateway.options.grpc))
    return re.sub(
        r"(?:\.venv/bin/)?\bplates (?=re)", f"{Path(sys.executable).parent}/plates ", text
    )


def run(command: list[str], folder: Path) -> str:
    child = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stdout + child.stderr
    return child.stdout


def can_run(block: CodeBlock) -> bool:
    """Tell whether this environment has the packages that a block imports."""
    return block.language == "python" and all(map(find_spec, IMPORT.findall(block.text)))


def program(page: Path) -> str:
    """Return a page's Python blocks as one program with the page's line numbers."""
    lines: list[str] = []
    for block in filter(can_run, blocks_of(page)):
        lines += [""] * (block.line - 2 - len(lines))
        lines += [f"print('block', {block.line})", *block.text.splitlines()]
    return "\n".join(lines)


@pytest.mark.parametrize("page", ASKING, ids=lambda page: page.name)
def test_the_python_of_a_page_runs_from_its_top_to_its_end(
    gateway: InFront, folder: Path, page: Path
) -> None:
    (folder / page.with_suffix(".py").name).write_text(here(program(page), gateway))
    output = run([sys.executable, "-W", "error", page.with_suffix(".py").name], folder)
    output_of_block = dict(re.findall(r"^block (\d+)\n(.*?)(?=^block |\Z)", output, re.M | re.S))
    printing = [block for block in filter(can_run, blocks_of(page)) if "print(" in block.text]
    assert [block.name for block in printing if not output_of_block[str(block.line)]] == []
    assert all(text in output for text in TEXTS)


@pytest.mark.parametrize("line", LINES)
def test_a_command_that_asks_the_server_works(gateway: InFront, folder: Path, line: str) -> None:
    line = here(line, gateway)
    if "curl " in line:
        if not shutil.which("curl"):
            pytest.skip("needs curl")
        line = line.replace("curl ", "curl --silent --show-error --fail-with-body ", 1)
    output = run(["sh", "-c", line], folder)
    texts = TEXTS if "car.jpg" in line and "max_plates=" not in line else [""]
    assert all(text in output.upper() for text in texts)  # Plate Recognizer's API writes a123bc77


def test_the_demo_prints_what_is_shown(tmp_path: Path) -> None:
    (block,) = [
        block
        for block in blocks_of(PROJECT / "docs" / "index.md")
        if block.language == "text" and "tests/data/street.jpg" in block.text
    ]
    commands = run(["make", "--dry-run", "demo"], PROJECT)
    command = next(line for line in commands.splitlines() if line.startswith(".venv/bin/plates "))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "data").symlink_to(STREET.parent)
    line = command.replace(".venv/bin/", f"{Path(sys.executable).parent}/").split()
    table, shown_table = columns(run(line, tmp_path)), columns(block.text)
    assert [[word for word in row if not word.isdigit()] for row in table] == [
        [word for word in row if not word.isdigit()] for row in shown_table
    ]
    sides = [
        [int(word) for row in rows for word in row if word.isdigit()]
        for rows in (table, shown_table)
    ]
    assert sides[0] == pytest.approx(sides[1], abs=2)  # pixels; engines round differently
    assert (tmp_path / "demo" / "street.jpg").is_file()


def columns(table: str) -> list[list[str]]:
    """Return the words of each line. Numbers have one digit, because engines differ a little."""
    return [
        [f"{float(word):.1f}" if re.fullmatch(r"\d\.\d+", word) else word for word in line.split()]
        for line in table.strip().splitlines()
    ]


def test_the_sums_of_the_weights_are_made_as_it_says(tmp_path: Path) -> None:
    (line, _) = command_lines(blocks_of(PROJECT / "docs" / "weights.md")[0].text)
    (copy_of("weights", tmp_path) / "SHA256SUMS").unlink()
    run(["sh", "-c", line], tmp_path)
    sums = (tmp_path / "weights" / "SHA256SUMS").read_text().splitlines()
    assert sorted(sums) == sorted((PROJECT / "weights" / "SHA256SUMS").read_text().splitlines())


def test_the_sums_of_weights_with_another_detector_list_every_file(tmp_path: Path) -> None:
    (block,) = [
        block for block in blocks_of(PROJECT / "docs" / "detectors.md") if "sha256sum" in block.text
    ]
    shutil.copy(copy_of("weights", tmp_path) / "yolo.pt", tmp_path / "detector.pt")
    run(["sh", "-ec", block.text], tmp_path)
    folder = tmp_path / "my_weights"
    listed_names = [line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    assert {"yolo.pt", "lprnet.int8.xml"} <= {*listed_names}
    assert sorted(listed_names) == sorted(
        path.name for path in folder.iterdir() if LISTED.match(path.name)
    )
