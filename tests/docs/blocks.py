"""The code blocks of the pages, and the commands in them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.samples import PROJECT

PAGES = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted(PROJECT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^ *```", re.MULTILINE)
SEPARATORS = {"|", "||", "&&", ";", "&", "(", ")", "$("}
REDIRECTIONS = {">", ">>", "<", ">&", "2>", "&>"}
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block.

    Attributes:
        page: File of the page.
        line: Number of the block's first line, counted from 1.
        language: Language in the fence, `""` if there is none.
        text: Content of the block, without the indent of a list.
    """

    page: Path
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        """Readable place of the block: page and line."""
        return f"{self.page.relative_to(PROJECT)}:{self.line}"


@cache
def blocks_of(page: Path) -> list[CodeBlock]:
    """Return a page's blocks in their order."""
    return [*_read_blocks(page)]


def _read_blocks(page: Path) -> Iterator[CodeBlock]:
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        yield CodeBlock(
            page, line, match[2].strip(), re.sub(f"^{match[1]}", "", match[3], flags=re.M)
        )


def blocks(*languages: str) -> list[CodeBlock]:
    """Return the blocks of all pages in some languages; of all, when none is named."""
    all_blocks = (block for page in PAGES for block in blocks_of(page))
    return [block for block in all_blocks if not languages or block.language in languages]


def command_lines(text: str) -> list[str]:
    """Return the lines of a shell block without comments; continued lines are joined."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def commands(line: str) -> list[list[str]]:
    """Return the simple commands of a line as words, without redirections and assignments."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    simple_commands: list[list[str]] = [[]]
    words = iter(lexer)
    for word in words:
        if word in SEPARATORS:
            simple_commands.append([])
        elif word in REDIRECTIONS:
            next(words, None)
        elif simple_commands[-1] or not ASSIGNMENT.match(word):
            simple_commands[-1].append(word)
    return [words for words in simple_commands if words]
