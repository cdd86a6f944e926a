"""No page of the documentation is too long to be read in one go."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
READ = (path for path in PROJECT.glob("docs/**/*.md") if path.parent.name != "reference")
"""Not the reference, in which words are looked up."""
PAGES = [*sorted(READ), PROJECT / "README.md", PROJECT / "CONTRIBUTING.md"]
MOST_WORDS = 1500

CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
WRITTEN = re.compile(
    r"<!-- (?:figures: [\w-]+|(soak[\w-]*)) -->.*?<!-- end of (?:figures|\1) -->", re.DOTALL
)
"""Text that a command writes between its marks."""
TABLE = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)
TARGET = re.compile(r"\]\([^)]*\)")
WORD = re.compile(r"[^\W_][\w'/.-]*")


def words(page: str) -> int:
    """Count the words of prose: no code, no figures of a command, no table of figures, no targets.

    A table of options is prose, as it is read; one of figures has most of its columns ranged right.
    """
    written = WRITTEN.sub("", CODE.sub("", page))
    prose = TABLE.sub(lambda table: "" if holds_figures(table[0]) else table[0], written)
    return len(WORD.findall(TARGET.sub("]", prose)))


def holds_figures(table: str) -> bool:
    """Tell whether at least half of a table's columns are aligned to the right."""
    columns = table.splitlines()[1].strip("|").split("|")
    return 2 * sum(column.strip().endswith(":") for column in columns) >= len(columns)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_a_page_is_read_in_one_go(page: Path) -> None:
    assert words(page.read_text(encoding="utf-8")) <= MOST_WORDS


@pytest.mark.parametrize(
    ("page", "count"),
    [
        pytest.param("", 0, id="nothing"),
        pytest.param("# Two words\n", 2, id="heading"),
        pytest.param("See [this page](docs/other-page.md#there).\n", 3, id="link"),
        pytest.param("One\n\n```bash\nmake serve\n```\n\ntwo\n", 2, id="code"),
        pytest.param("| option | |\n|---|---|\n| `--url` | which server |\n", 4, id="options"),
        pytest.param("| plates | ms |\n|---|--:|\n| none | 38 |\n", 0, id="figures"),
        pytest.param("a <!-- figures: x --> b <!-- end of figures --> c", 2, id="written"),
        pytest.param("a <!-- soak-hour --> b <!-- end of soak-hour --> c", 2, id="soak"),
    ],
)
def test_prose_is_counted(page: str, count: int) -> None:
    assert words(page) == count
